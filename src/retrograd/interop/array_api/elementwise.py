"""Functions of every element, under the standard's names.

Most are the package's own. Those of two arrays take a Python scalar on either side: see
`arguments`.
"""

from __future__ import annotations

from typing import Any

from ... import ops
from ...engine.tensor import Tensor
from ...ops import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    ceil,
    conj,
    cos,
    cosh,
    exp,
    expm1,
    floor,
    imag,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    logical_not,
    negative,
    positive,
    real,
    reciprocal,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
    trunc,
)
from ...ops import bitwise_not as bitwise_invert
from .arguments import binary, numpys_order, pair

__all__ = [
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and",
    "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "ceil", "clip", "conj", "copysign", "cos", "cosh", "divide", "equal", "exp", "expm1", "floor",
    "floor_divide", "greater", "greater_equal", "hypot", "imag", "isfinite", "isinf", "isnan",
    "less", "less_equal", "log", "log1p", "log2", "log10", "logaddexp", "logical_and",
    "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative",
    "nextafter", "not_equal", "positive", "pow", "real", "reciprocal", "remainder", "round", "sign",
    "signbit", "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trunc",
]  # fmt: skip

add = binary(ops.add, "add", "Sum.", "tensor([6, 3])")
atan2 = binary(ops.atan2, "atan2", "Angle of the point (x2, x1).", "tensor([1.1071, 1.1071])")
bitwise_and = binary(ops.bitwise_and, "bitwise_and", "And of the bits.", "tensor([0, 0])")
bitwise_left_shift = binary(
    ops.bitwise_left_shift, "bitwise_left_shift", "Bits shifted up.", "tensor([16,  4])"
)
bitwise_or = binary(ops.bitwise_or, "bitwise_or", "Or of the bits.", "tensor([6, 3])")
bitwise_right_shift = binary(
    ops.bitwise_right_shift, "bitwise_right_shift", "Bits shifted down.", "tensor([1, 1])"
)
bitwise_xor = binary(ops.bitwise_xor, "bitwise_xor", "Bits that differ.", "tensor([6, 3])")
copysign = binary(ops.copysign, "copysign", "`x1` with the sign of `x2`.", "tensor([4., 2.])")
divide = binary(ops.divide, "divide", "Quotient.", "tensor([2., 2.])")
equal = binary(ops.eq, "equal", "Whether equal.", "tensor([False, False])", mirrored=ops.eq)
floor_divide = binary(ops.floor_divide, "floor_divide", "Quotient, rounded down.", "tensor([2, 2])")
greater = binary(ops.gt, "greater", "Whether `x1 > x2`.", "tensor([True, True])", mirrored=ops.lt)
greater_equal = binary(
    ops.ge, "greater_equal", "Whether `x1 >= x2`.", "tensor([True, True])", mirrored=ops.le
)
hypot = binary(
    ops.hypot, "hypot", "Length of the vector (x1, x2).", "tensor([4.4721, 2.2361])", "4.0, 2.0"
)
less = binary(ops.lt, "less", "Whether `x1 < x2`.", "tensor([False, False])", mirrored=ops.gt)
less_equal = binary(
    ops.le, "less_equal", "Whether `x1 <= x2`.", "tensor([False, False])", mirrored=ops.ge
)
logaddexp = binary(
    ops.logaddexp, "logaddexp", "log(exp(x1) + exp(x2)).", "tensor([4.1269, 2.3133])", "4.0, 2.0"
)
logical_and = binary(
    ops.logical_and, "logical_and", "Whether both are true.", "tensor([True, True])"
)
logical_or = binary(ops.logical_or, "logical_or", "Whether one is true.", "tensor([True, True])")
logical_xor = binary(
    ops.logical_xor, "logical_xor", "Whether exactly one is true.", "tensor([False, False])"
)
maximum = binary(
    lambda x, y: ops.maximum(x, y, **numpys_order(x)),
    "maximum",
    "The larger of the two.",
    "tensor([4, 2])",
)
minimum = binary(
    lambda x, y: ops.minimum(x, y, **numpys_order(x)),
    "minimum",
    "The smaller of the two.",
    "tensor([2, 1])",
)
multiply = binary(ops.multiply, "multiply", "Product.", "tensor([8, 2])")
not_equal = binary(
    ops.ne, "not_equal", "Whether different.", "tensor([True, True])", mirrored=ops.ne
)
pow = binary(ops.pow, "pow", "`x1` to the power `x2`.", "tensor([16,  2])")
remainder = binary(
    ops.remainder, "remainder", "Remainder, with the sign of `x2`.", "tensor([0, 0])"
)
subtract = binary(ops.subtract, "subtract", "Difference.", "tensor([2, 1])")


def nextafter(x1: Any, x2: Any, /) -> Tensor:
    """The next floating number after `x1` towards `x2`, of which one may be a Python scalar.

    >>> xp.nextafter(xp.asarray([1.0]), 2.0) > 1
    tensor([True])
    """
    return ops.nextafter(*pair(x1, x2))


def round(x: Tensor, /) -> Tensor:
    """The nearest integers, even ones at halves; of both parts of complex numbers.

    >>> xp.round(xp.asarray([0.5, 1.5]))
    tensor([0., 2.])
    """
    if not x.dtype.is_complex:
        return ops.round(x)
    return ops.complex(ops.round(ops.real(x)), ops.round(ops.imag(x)))


def sign(x: Tensor, /) -> Tensor:
    """The sign: -1, 0 or 1, NaN for NaN; x/|x| for complex numbers. The derivative is zero.

    >>> xp.sign(xp.asarray([-2.0, 0.0, float("nan")]))
    tensor([-1.,  0., nan])
    """
    found = ops.sgn(x)
    if not x.dtype.is_floating_point:
        return found
    return ops.where(ops.isnan(x), x, found)


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """The elements moved into the interval [min, max], each a number, an array or None for none.

    The dtype stays that of `x`. Derivative 1 inside and at the ends, 0 outside.

    >>> xp.clip(xp.asarray([1, 5, 9]), 2, 6)
    tensor([2, 5, 6])
    """
    if min is None and max is None:
        return ops.clone(x)
    if x.dtype.is_complex:  # in NumPy's order
        x = x if min is None else maximum(x, min).to(x.dtype)
        return x if max is None else minimum(x, max).to(x.dtype)
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        bounds = [None if b is None else pair(b, x)[0].to(x.dtype) for b in (min, max)]
        return ops.clamp(x, *bounds)
    return ops.clamp(x, min, max).to(x.dtype)
