"""log-sum-exp, softmax and log-softmax, stable and, for complex input, holomorphic."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...engine.namespaces import recorded
from ...engine.registry import declare, example
from ...engine.tensor import Tensor
from ...kernels import sums
from ...kernels.memory import in_rows
from ...kernels.native.small import quick
from ...kernels.sums import in_single
from ..core.arguments import public
from ..core.dims import as_number, wrap_dim, wrap_dims
from ..core.pointwise import single, unsupported
from ..reduction.sum_prod import DIMS, add_up, converted

__all__ = ["log_softmax", "logsumexp", "softmax"]

ONE_DIM = [
    example("3x4", dim=(1,)),
    example("3x4", dim=(0,)),
    example("2x3x2", dim=(1,)),
    example("", dim=()),
    example("0x2", dim=(0,)),
]


def top(x: Any, dim: Any) -> Any:
    """The largest real part over `dim`, with size 1 kept: what an exponent is measured from."""
    return sums.reduced(np.maximum, x.real, dim, None, True, -np.inf)


def floating(x: Any, name: str) -> Any:
    """`x`, or NotImplementedError for booleans and integers."""
    if x.dtype.kind in "biu":
        raise unsupported(name, x.dtype, "Convert first: x.float()")
    return x


@in_single
def _logsumexp(x: Any, *, dim: Any, keepdim: bool) -> Any:
    if x.dtype.kind in "biu":
        x = dtypes.converted(x, dtypes.default_numpy())
    m = top(x, dim)
    m = np.where(np.isfinite(m), m, x.real.dtype.type(0))
    total = np.log(add_up(np.exp(x - m), dim, True)) + m
    return total if keepdim else total.reshape([n for i, n in enumerate(x.shape) if i not in dim])


_logsumexp_op = declare(
    "logsumexp(input, *, dim, keepdim)",
    _logsumexp,
    input=lambda xp, g, input, out, dim, keepdim: xp.mul(
        xp.unreduce(g, dim=dim, keepdim=keepdim, shape=None),
        xp.conj(xp.exp(xp.sub(input, xp.unreduce(out, dim=dim, keepdim=keepdim, shape=None)))),
    ),
    rows=True,
    examples=DIMS,
)


@quick("softmax")
@in_single
def _softmax(x: Any, *, dim: Any) -> Any:
    out = np.exp(floating(x, "softmax") - top(x, dim))
    return in_rows(np.true_divide(out, add_up(out, dim, True)))


def softmax_input(xp: Any, g: Any, out: Any, dim: Any) -> Any:
    """The cotangent less its mean by the weights, times the weights."""
    g, weights = single(xp, g), xp.conj(single(xp, out))
    return weights * (g - xp.sum_dim(g * weights, dim=dim, keepdim=True))


_softmax_op = declare(
    "softmax(input, *, dim)",
    _softmax,
    input=softmax_input,
    rows=True,
    examples=ONE_DIM,
    saved={"dim": as_number},
)


@quick("log_softmax")
@in_single
def _log_softmax(x: Any, *, dim: Any) -> Any:
    out = floating(x, "log_softmax") - top(x, dim)
    return in_rows(out - np.log(add_up(np.exp(out), dim, True)))


def log_softmax_input(xp: Any, g: Any, out: Any, dim: Any) -> Any:
    """The cotangent less its sum, times the weights."""
    g, out = single(xp, g), single(xp, out)
    return g - xp.conj(xp.exp(out)) * xp.sum_dim(g, dim=dim, keepdim=True)


_log_softmax_op = declare(
    "log_softmax(input, *, dim)",
    _log_softmax,
    input=log_softmax_input,
    rows=True,
    contiguous="input",
    examples=ONE_DIM,
    saved={"dim": as_number},
)


@public(out="wider", methods="logsumexp")
def logsumexp(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Logarithm of the sum of exponentials over `dim` (an int or a tuple), without overflow.

    Integers give the default floating dtype; complex input gives the holomorphic extension. The
    value is -inf for no elements, or where all are -inf (NaN gradient there). Raises TypeError
    without `dim`.

    >>> rg.logsumexp(rg.tensor([1000.0, 1000.0]), 0)
    tensor(1000.6932)
    """
    if dim is None:
        raise TypeError(
            'logsumexp() missing 1 required positional arguments: "dim". For all elements: '
            "x.flatten().logsumexp(0)"
        )
    return _logsumexp_op(input, dim=wrap_dims(input, dim), keepdim=keepdim)


NO_DIM = (
    "{name}() missing 1 required positional argument: 'dim', along which the weights add up to 1. "
    "For scores in the last dimension: {name}(x, dim=-1)"
)


def along(input: Tensor, dim: int, name: str) -> tuple[int, ...]:
    """The `dim` of a softmax as the record wants it: a tuple, empty for a 0-d tensor."""
    try:
        at = wrap_dim(input, dim)
    except TypeError:
        if dim is not None:
            raise
        raise TypeError(NO_DIM.format(name=name)) from None
    return (at,) if input.ndim else ()


@public(out=True, methods="softmax")
def softmax(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """Exponentials divided by their sum along `dim`, of the input's shape.

    `dtype` converts first. Complex input gives the holomorphic extension (PyTorch has none). Raises
    NotImplementedError for integers, IndexError for a dim out of range.

    >>> rg.softmax(rg.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])
    """
    return _softmax_op(converted(input, dtype), dim=along(input, dim, "softmax"))


@public(out=True, methods="log_softmax")
def log_softmax(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """Logarithm of `softmax`, computed without leaving the logarithms; arguments as there.

    >>> rg.log_softmax(rg.tensor([0.0, 1000.0]), 0)
    tensor([-1000.,     0.])
    """
    return _log_softmax_op(converted(input, dtype), dim=along(input, dim, "log_softmax"))


def softmin(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """`softmax` of the negated input; `nn.functional` shows it, as in PyTorch."""
    return softmax(recorded.neg(input), dim, dtype)
