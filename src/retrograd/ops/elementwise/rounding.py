"""Rounding, signs and remainders: functions that are piecewise constant or linear.

The derivative of a rounding function is 0 everywhere, at its jumps too, as in PyTorch. Integer
tensors are their own rounding. A complex number is rounded in both of its parts, as the array API
standard says of `round`; with `by="modulus"` in its modulus. All else is real only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...engine.dispatch import operand
from ...engine.namespaces import recorded
from ...engine.registry import example, operator
from ...engine.tensor import Tensor, method
from ...kernels.allocation import copied, empty_beside
from ...kernels.layout import laid_out
from ..core.arguments import public
from ..core.pointwise import (
    SINGLE,
    binary,
    double,
    floating,
    holds_complex,
    only,
    pointwise,
    unary,
    unsupported,
    zero_derivative,
)
from ..tensor.operators import (
    attach_in_place,
    attach_operator,
    attach_reflected,
    show_operators,
)
from .arithmetic import div

__all__ = [
    "ceil", "copysign", "fix", "floor", "floor_divide", "fmod", "frac", "heaviside", "remainder",
    "round", "sign", "signbit", "trunc",
]  # fmt: skip


def _in_parts(function: Any) -> Any:
    def on_parts(x: Any) -> Any:
        if x.dtype.kind != "c":
            return function(x)
        out = empty_beside(x)
        out.real[...], out.imag[...] = function(x.real), function(x.imag)
        return out

    return on_parts


def _rounding(name: str, function: Any) -> Any:
    in_parts = _in_parts(function)

    def rounded(x: Any) -> Any:
        return in_parts(x) if x.dtype.kind in "fVc" else copied(x)

    return only(name, "fiuc", rounded)


floor, ceil, trunc = [
    unary(
        name,
        _rounding(name, ufunc),
        f"The {about} each element.",
        ("[1.5, -1.5]", shown),
        aliases,
        input=zero_derivative,
        domain=(0.1, 0.9),
    )
    for name, ufunc, about, shown, *aliases in (
        ("floor", np.floor, "largest integer not above", "[ 1., -2.]"),
        ("ceil", np.ceil, "smallest integer not below", "[ 2., -1.]"),
        ("trunc", np.trunc, "integer part of", "[ 1., -1.]", "fix"),
    )
]
fix = trunc

frac = unary(
    "frac",
    only("frac", "fc", lambda x: x - _in_parts(np.trunc)(x)),
    "The fractional part of each element, with its sign; derivative 1.",
    ("[1.5, -2.25]", "[ 0.5000, -0.2500]"),
    input=lambda xp, g: g,
    domain=(0.1, 0.9),
)

_round = pointwise(
    "round(input)",
    _rounding("round", np.rint),
    input=zero_derivative,
    examples=SINGLE,
    domain=(0.6, 1.4),
)

_round_decimals = pointwise(
    "round_decimals(input, *, decimals)",
    only("round", "fc", lambda input, *, decimals: laid_out(np.round(input, decimals), input)),
    input=zero_derivative,
    examples=[example("3x4", decimals=-1)],
    domain=(1.0, 4.0),
    node_name="RoundBackward1",
)


@public(out=True, methods="round round_")
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest multiple of 10 ** -decimals; ties go to the even one. Derivative 0.

    Of a complex number both parts are rounded; with by="modulus" its modulus. Raises
    NotImplementedError for bool tensors, and for integers where `decimals` is not 0. PyTorch's is
    real only. Source: the array API standard.

    >>> rg.round(rg.tensor([0.5, 1.5, -2.6])), rg.round(rg.tensor([1234.5]), decimals=-2)
    (tensor([ 0.,  2., -3.]), tensor([1200.]))
    """
    if decimals == 0:
        return _round(input)
    return _round_decimals(input, decimals=decimals)


def sign_array(x: Any) -> Any:
    """x / |x|; of complex numbers whose modulus overflows NumPy's loses the real part."""
    if x.dtype.kind == "b":
        return x.copy()
    if x.dtype.kind != "c":
        return np.sign(x)
    try:
        with np.errstate(over="raise"):
            return np.sign(x)
    except FloatingPointError:
        found = np.sign(x)
        return np.where((found.real == 0) & (x.real != 0), np.sign(x * 0.5), found)


def sign_input(xp: Any, g: Any, input: Any, out: Any) -> Any:
    """The part of g across the radius, divided by it; 0 at 0, as for a real tensor."""
    if not holds_complex(input):
        return xp.zeros_like(g)
    radius, g = xp.abs(double(xp, input)), double(xp, g)
    across = g - out * xp.real(g * xp.conj(out))
    return xp.zero_where(across / (radius + (radius == 0)), radius == 0)


_sign = pointwise(
    "sign(input)",
    only("sign", "fiub", sign_array),
    input=zero_derivative,
    complex=False,
    examples=SINGLE,
    domain=(0.5, 2.0),
)


@public(out=True, methods="sign sign_")
def sign(input: Tensor) -> Tensor:
    """x / |x|, and 0 at 0: 1 or -1 of a real element, with derivative 0; of complex ones `sgn`.

    PyTorch's is real only.

    >>> rg.sign(rg.tensor([2.0, 0.0, -3.0]))
    tensor([ 1.,  0., -1.])
    """
    return recorded.sgn(input) if holds_complex(input) else _sign(input)


signbit = unary(
    "signbit",
    only("signbit", "fiub", np.signbit, "Complex numbers have no sign."),
    "Whether the sign bit is set; so for -0.0 too.",
    ("[2.0, -0.0, -3.0]", "[False,  True,  True]"),
    complex=False,
    inplace=False,
)


def _heaviside(x: Any, values: Any) -> Any:
    return np.where(np.isnan(x), x.dtype.type(0), np.where(x == 0, values, (x > 0).astype(x.dtype)))


heaviside = binary(
    "heaviside",
    only("heaviside", "fiub", _heaviside, "Complex numbers have no order."),
    "0 for negative elements, 1 for positive ones, `values` at 0; derivative 0 in `input`.",
    ("[-1.0, 0.0, 2.0]", "[0.5, 0.5, 0.5]", "[0.0000, 0.5000, 1.0000]"),
    second="values",
    input=zero_derivative,
    values=lambda xp, g, input: xp.zero_where(g, input != 0),
    complex=False,
    domain=(0.5, 2.0),
)


copysign = binary(
    "copysign",
    floating(only("copysign", "f", np.copysign)),
    "The magnitude of `input` with the sign of `other`; derivative 0 in `input` at 0.",
    ("[1.0, 2.0]", "[-1.0, 0.0]", "[-1.,  2.]"),
    promote=dtypes.promote_floating,
    input=lambda xp, g, input, out: g * (xp.sgn(input) * xp.sgn(out)),
    other=zero_derivative,
    contiguous="other",
    complex=False,
    domain=(0.5, 2.0),
)


def _divisor_checked(name: str, function: Any) -> Any:
    """A forward that raises PyTorch's RuntimeError for an integer division by zero."""

    def checked(x: Any, y: Any) -> Any:
        if y.dtype.kind in "iu" and not np.all(y):
            raise RuntimeError(f"ZeroDivisionError: {name}() of integers by a tensor holding 0")
        return function(x, y)

    return only(name, "fiu", checked, "Complex numbers have no order.")


def _remainder(x: Any, y: Any) -> Any:
    """NumPy's, but a remainder of 0 has the sign of what was divided, as in PyTorch."""
    rest = np.remainder(x, y)
    return np.copysign(rest, np.where(rest == 0, x, y)) if x.dtype.kind == "f" else rest


remainder = binary(
    "remainder",
    _divisor_checked("remainder", _remainder),
    "input - other * floor(input / other), as Python's `%`: the sign is that of `other`.",
    ("[5.0, -5.0]", "[3.0, 3.0]", "[2., 1.]"),
    input=lambda xp, g: g,
    other=lambda xp, g, input, other: -g * xp.floor_div(input, other),
    complex=False,
    number_first=True,
    domain=(1.1, 1.9),
    node_name="RemainderBackward1",
)

fmod = binary(
    "fmod",
    _divisor_checked("fmod", np.fmod),
    "input - other * trunc(input / other), as C's `fmod`: the sign is that of `input`.",
    ("[5.0, -5.0]", "[3.0, 3.0]", "[ 2., -2.]"),
    input=lambda xp, g: g,
    other=lambda xp, g, input, other: -g * xp.trunc_div(input, other),
    complex=False,
    domain=(1.1, 1.9),
    node_name="FmodBackward1",
)


@public(out=True, methods="floor_divide floor_divide_")
def floor_divide(input: Tensor, other: Any) -> Tensor:
    """The quotient rounded down, elementwise, as Python's `//`; derivative 0.

    Raises RuntimeError for integers divided by 0, NotImplementedError for complex tensors.

    >>> rg.floor_divide(rg.tensor([7, -7]), 2)
    tensor([ 3, -4])
    """
    if not isinstance(input, Tensor):
        input = operand(input, other._array.dtype if isinstance(other, Tensor) else np.dtype("?"))
    if "c" in (input._array.dtype.kind, operand(other, input._array.dtype)._array.dtype.kind):
        raise unsupported("floor_divide", input._array.dtype)
    return div(input, other, rounding_mode="floor")


attach_operator(floor_divide, "__floordiv__")
attach_reflected(floor_divide, "__rfloordiv__")
attach_in_place(floor_divide, "__ifloordiv__", "//=")
method(operator(remainder, "__mod__"), "__mod__")
attach_reflected(remainder, "__rmod__")
attach_in_place(remainder, "__imod__", "%=")
show_operators()
