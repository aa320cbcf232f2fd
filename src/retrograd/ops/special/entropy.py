"""Products with logarithms that are 0 at 0, entropy, and the inverse of the sigmoid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.namespaces import recorded
from ...engine.registry import declare, example
from ...engine.tensor import Tensor
from ...kernels import complexes
from ..core.arguments import public
from ..core.pointwise import PAIRS, floating, holds_complex, pointwise, unary
from ..elementwise.clamp_where import clamp
from ..elementwise.exp_log import log1p_array
from .erf_gamma import special
from .incomplete_gamma import numbers_as_tensors

__all__ = ["logit", "xlogy"]


def _zero_product(x: Any, y: Any, log: Any) -> Any:
    return np.where((x == 0) & ~np.isnan(y), 0, x * log(y)).astype(x.dtype)


def _outside(x: Any, y: Any, edge: float) -> Any:
    """Where x is 0 and log(y - edge) is not finite: there the derivative in x counts as 0."""
    return (x == 0) & (y.real <= edge) & (y.imag == 0)


declare(
    "at_zero_product(input, other, *, edge)",
    lambda input, other, *, edge: _outside(input, other, edge),
    elementwise=True,
    examples=[example("3x4, 3x4", edge=0.0)],
    doc="""Where `input` is 0 and `other` is not above `edge`; for formulas.""",
)


def _zero_outside(xp: Any, g: Any, logarithm: Any, outside: Any) -> Any:
    """`g` times a logarithm; 0 where that does not count, for an infinite one or infinite g too."""
    return xp.zero_where(g * xp.conj(xp.zero_where(logarithm, outside)), outside)


_xlogy = pointwise(
    "xlogy(input, other)",
    floating(lambda x, y: _zero_product(x, y, np.log)),
    promote=dtypes.promote_floating,
    input=lambda xp, g, input, other: _zero_outside(
        xp, g, xp.log(other), xp.at_zero_product(input, other, edge=0.0)
    ),
    other=lambda xp, g, input, other: g * xp.conj(xp.div(input, other)),
    contiguous="input",
    examples=PAIRS,
    domain=(0.5, 2.0),
)

_xlog1py = pointwise(
    "xlog1py(input, other)",
    floating(lambda x, y: _zero_product(x, y, log1p_array)),
    promote=dtypes.promote_floating,
    input=lambda xp, g, input, other: _zero_outside(
        xp, g, xp.log1p(other), xp.at_zero_product(input, other, edge=-1.0)
    ),
    other=lambda xp, g, input, other: g * xp.conj(xp.div(input, other + 1.0)),
    contiguous="input",
    examples=PAIRS,
    domain=(0.5, 2.0),
    node_name="SpecialXlog1PyBackward0",
)


@public(out=True, methods="xlogy xlogy_")
def xlogy(input: Any, other: Any) -> Tensor:
    """input * log(other), elementwise, and 0 where `input` is 0 (unless `other` is NaN).

    One of the two may be a number; they broadcast, real or complex. Where `input` is 0 and `other`
    is not positive the derivative in `input` is 0; the derivative in `other` is input / other
    everywhere.

    >>> rg.xlogy(rg.tensor([0.0, 2.0]), rg.tensor([0.0, 3.0]))
    tensor([0.0000, 2.1972])
    """
    return _xlogy(*numbers_as_tensors(input, other))


@public(out=True)
def xlog1py(input: Any, other: Any) -> Tensor:
    """input * log(1 + other), elementwise, exact for small `other`; see `xlogy`.

    >>> rg.special.xlog1py(rg.tensor([0.0, 2.0]), rg.tensor([-1.0, 3.0]))
    tensor([0.0000, 2.7726])
    """
    return _xlog1py(*numbers_as_tensors(input, other))


def _entr(x: Any) -> Any:
    value = _zero_product(-x, x, np.log)
    return value if x.dtype.kind == "c" else np.where(x < 0, x.dtype.type(-np.inf), value)


entr = special(
    "entr",
    _entr,
    "-x log(x), 0 at 0 with derivative inf, -inf for negative real elements with derivative NaN.",
    ("[0.0, 0.5, 1.0]", "[0.0000, 0.3466, -0.0000]"),
    derivative=lambda xp, input: -1.0 - xp.log(input),
    domain=(0.5, 3.0),
)


def _logit_array(x: Any) -> Any:
    """log(x / (1 - x)), near 1/2 as an inverse hyperbolic tangent, which is exact there."""
    if x.dtype.kind == "c":
        return complexes.logit(x)
    near = np.abs(x - 0.5) < 0.25
    centre = 2.0 * np.arctanh(2.0 * np.where(near, x, 0.5) - 1.0)
    return np.where(near, centre, np.log(x / (1.0 - x))).astype(x.dtype)


def _logit_derivative(xp: Any, input: Any) -> Any:
    """1 / (x (1 - x)), for real numbers as a sum: infinite at 0 and 1; NaN where the value is."""
    if holds_complex(input):
        return 1.0 / input / (1.0 - input)
    derivative = 1.0 / (input + 0.0) + 1.0 / (1.0 - input)  # -0.0 + 0.0 is 0.0
    beyond = (input < 0.0) | (input > 1.0)
    return xp.where(beyond, xp.zeros_like(derivative) + math.nan, derivative)


_logit = unary(
    "logit",
    floating(_logit_array),
    "The inverse of `sigmoid`.",
    ("[0.5, 0.25]", "[ 0.0000, -1.0986]"),
    derivative=_logit_derivative,
    inplace=False,
    domain=(0.1, 0.9),
)


@public(out=True, methods="logit logit_")
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)), the inverse of `sigmoid`, elementwise, real or complex.

    With `eps` the elements are clamped to [eps, 1 - eps] first, with derivative 0 outside; without,
    values and derivatives are infinite at 0 and 1, and NaN outside [0, 1].

    >>> rg.logit(rg.tensor([0.5, 0.25, 1.0]), eps=0.1)
    tensor([ 0.0000, -1.0986,  2.1972])
    """
    if eps is None:
        return _logit(input)
    if input._array.dtype.kind in "iub":
        input = recorded.cast(input, dtype=dtypes.default_numpy())
    return _logit(clamp(input, eps, 1 - eps))
