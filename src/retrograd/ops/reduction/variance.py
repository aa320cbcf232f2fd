"""Variance and standard deviation.

Subgradients: the standard deviation of equal elements has gradient 0, of the minimum norm; so do
its own derivatives, since `div_or_zero` is closed under differentiation.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.registry import declare, example
from ...engine.tensor import Tensor
from ...kernels import sums
from ...kernels.allocation import empty
from ...kernels.layout import empty_for_result
from ...kernels.native.small import quick
from ..core.arguments import public
from ..core.dims import wrap_dims
from ..core.pointwise import pointwise
from .sum_prod import DIMS, average, count

__all__ = ["std", "std_mean", "var", "var_mean"]

# -- structure -----------------------------------------------------------------------------------


def _div_or_zero(x: Any, y: Any) -> Any:
    shape = np.broadcast_shapes(x.shape, y.shape)
    kind = np.result_type(x, y)
    rows = x.__class__ is not np.ndarray or x.flags.c_contiguous
    out = np.divide(x, y, out=empty(x, shape, kind) if rows else empty_for_result(x, y, dtype=kind))
    np.copyto(out, 0, where=y == 0)
    return out


div_or_zero = pointwise(
    "div_or_zero(input, other)",
    _div_or_zero,
    input=lambda xp, g, other: xp.div_or_zero(g, xp.conj(other)),
    other=lambda xp, g, other, out: -g * xp.conj(xp.div_or_zero(out, other)),
    linear="input",
    examples=["3x4, 3x4", "3x1, 4", ", "],
    domain=(0.5, 2.0),
    doc="""The quotient, and 0 with all its derivatives where the divisor is 0.""",
)


def spread_of(x: Any, dim: Any, correction: float, keepdim: bool, root: bool) -> Any:
    """The variance, or its root, whose square may be beyond the dtype."""
    if x.dtype.kind in "biu":
        raise RuntimeError(
            "std and var only support floating point and complex dtypes, not "
            f"{dtypes.legacy_name(x.dtype)}. Convert first: x.float().var()"
        )
    degrees = max(count(x.shape, dim) - correction, 0)
    found = sums.moments(x, dim, degrees, root, keep=False)[2]
    return found if keepdim else found.reshape([n for d, n in enumerate(x.shape) if d not in dim])


@quick("var")
def _var(x: Any, *, dim: Any, correction: float, keepdim: bool) -> Any:
    return spread_of(x, dim, correction, keepdim, False)


def scale(shape: tuple[int, ...], dim: Any, correction: float) -> float:
    """2 / (n - correction); infinite without degrees of freedom, as the variance is."""
    n = count(shape, dim)
    return 2.0 / (n - correction) if n > correction else math.inf


def spread(xp: Any, g: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    """The share of the input in the sum of squares around the mean, of which `g` is half."""
    centred = input - xp.mean_dim(input, dim=dim, keepdim=True)
    return xp.mul(xp.unreduce(g, dim=dim, keepdim=keepdim, shape=None), centred)


def of_pair(
    xp: Any, g: Any, share: Any, dim: Any, keepdim: bool, input_shape: Any, correction: float
) -> Any:
    """The input's gradient by a pair (variance, mean): `share` for the first, and the mean's.

    Without degrees of freedom `share` is NaN, which is not to reach whoever uses the mean alone.
    """
    if count(input_shape, dim) <= correction:
        share = xp.zero_where(share, xp.unreduce(g[0], dim=dim, keepdim=keepdim, shape=None) == 0)
    return xp.add(share, shift(xp, g[1], dim, keepdim, input_shape))


def shift(xp: Any, g: Any, dim: Any, keepdim: bool, input_shape: Any) -> Any:
    """The input's gradient by its mean, whose cotangent is `g`."""
    g = g / (count(input_shape, dim) or 1)
    return xp.unreduce(g, dim=dim, keepdim=keepdim, shape=input_shape)


@quick("std")
def _std(input: Any, *, dim: Any, correction: float, keepdim: bool) -> Any:
    return spread_of(input, dim, correction, keepdim, True)


def with_mean(forward: Any) -> Any:
    """A forward that gives the mean, too."""
    return lambda input, *, dim, correction, keepdim: (
        forward(input, dim=dim, correction=correction, keepdim=keepdim),
        average(input, dim, keepdim),
    )


SPREADS = [example(e.specs[0], correction=1, **e.params) for e in DIMS[:3]]
SPREADS += [example("4", correction=0, dim=(0,), keepdim=False)]


def variance_input(
    xp: Any, g: Any, input: Any, dim: Any, correction: float, keepdim: bool, input_shape: Any
) -> Any:
    """The input's gradient by its variance: 2 g (input - mean) / (n - correction)."""
    return spread(xp, g * scale(input_shape, dim, correction), input, dim, keepdim)


def deviation_input(
    xp: Any, g: Any, input: Any, out: Any, dim: Any, correction: float, keepdim: bool,
    input_shape: Any,
) -> Any:  # fmt: skip
    """The input's gradient by its standard deviation, which is 1 / (2 out) times the variance's."""
    share = xp.div_or_zero(g, out) * (scale(input_shape, dim, correction) / 2)
    return spread(xp, share, input, dim, keepdim)


_var_op = declare(
    "var(input, *, dim, correction, keepdim)",
    _var,
    input=variance_input,
    rows=True,
    examples=SPREADS,
)

_std_op = declare(
    "std(input, *, dim, correction, keepdim)",
    _std,
    input=deviation_input,
    rows=True,
    examples=SPREADS,
)

_var_mean_op: Any = declare(
    "var_mean(input, *, dim, correction, keepdim) -> out, mean",
    with_mean(_var),
    input=lambda xp, g, input, dim, correction, keepdim, input_shape: of_pair(
        xp, g, variance_input(xp, g[0], input, dim, correction, keepdim, input_shape),
        dim, keepdim, input_shape, correction,
    ),
    rows=True,
    examples=SPREADS,
)  # fmt: skip

_std_mean_op: Any = declare(
    "std_mean(input, *, dim, correction, keepdim) -> out, mean",
    with_mean(_std),
    input=lambda xp, g, input, out, dim, correction, keepdim, input_shape: of_pair(
        xp, g, deviation_input(xp, g[0], input, out, dim, correction, keepdim, input_shape),
        dim, keepdim, input_shape, correction,
    ),
    rows=True,
    examples=SPREADS,
)  # fmt: skip


FEW = (
    "{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
    "factor (input numel divided by output numel)."
)


def _call(
    op: Any, input: Tensor, dim: Any, unbiased: bool | None, keepdim: bool, correction: float | None
) -> Any:
    """The result of a record for the arguments of its public function.

    A bool in the place of `dim` is the old `unbiased`. Warns where the sum of squares is divided by
    0.
    """
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None and correction is not None:
        raise TypeError("got an invalid combination of arguments: both unbiased and correction")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    dims, shape = wrap_dims(input, dim), input._array.shape
    if 0 in shape or math.prod([shape[d] for d in dims]) <= correction:
        warnings.warn(FEW.format(name=op.__name__), UserWarning, stacklevel=3)
    return op(input, dim=dims, correction=correction, keepdim=keepdim)


@public(out="wider", methods="var")
def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """Variance of all elements or over `dim`: the sum of |x - mean|² over `n - correction`.

    `correction` is 1 by default; the older `unbiased=False` means 0. Real for complex input. NaN or
    infinite where `n <= correction`. Raises RuntimeError for integers.

    >>> x = rg.tensor([1.0, 2.0, 3.0])
    >>> rg.var(x), rg.var(x, correction=0)
    (tensor(1.), tensor(0.6667))
    """
    return _call(_var_op, input, dim, unbiased, keepdim, correction)  # type: ignore[no-any-return]


@public(out="wider", methods="std")
def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """Standard deviation, the square root of `var`; arguments and errors as there.

    Where it is 0 its derivative is taken as 0.

    >>> rg.std(rg.tensor([1.0, 2.0, 3.0]))
    tensor(1.)
    """
    return _call(_std_op, input, dim, unbiased, keepdim, correction)  # type: ignore[no-any-return]


@public()
def var_mean(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """The pair (`var`, `mean`) with the same arguments.

    >>> rg.var_mean(rg.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    return _call(_var_mean_op, input, dim, unbiased, keepdim, correction)  # type: ignore[no-any-return]


@public()
def std_mean(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """The pair (`std`, `mean`) with the same arguments.

    >>> rg.std_mean(rg.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    return _call(_std_mean_op, input, dim, unbiased, keepdim, correction)  # type: ignore[no-any-return]
