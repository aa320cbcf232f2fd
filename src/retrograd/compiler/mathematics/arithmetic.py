"""Arithmetic, rounding and the parts of numbers, with NumPy's rules for what is not finite."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..values import (
    Complex,
    Value,
    bits,
    ceil,
    convert,
    copysign,
    floor,
    from_bits,
    isnan,
    remainder,
    rint,
    select,
    sqrt,
    trunc,
    truncated_quotient,
)
from .table import BOOL, COMPLEX, INTEGER, REAL, emits

__all__: list[str] = []

NUMBERS = INTEGER + REAL + COMPLEX

for _names, _dtypes, _function in (
    ("add", BOOL, operator.or_),
    ("add", NUMBERS, operator.add),
    ("multiply", BOOL, operator.and_),
    ("multiply", NUMBERS, operator.mul),
    ("subtract", NUMBERS, operator.sub),
    ("divide", REAL + COMPLEX, operator.truediv),
    ("negative", NUMBERS, operator.neg),
    ("positive", NUMBERS, lambda x: x),
    ("square", NUMBERS, lambda x: x * x),
    ("absolute", BOOL + INTEGER, abs),
    ("absolute fabs", REAL, abs),
    ("copysign", REAL, copysign),
    ("floor", REAL, floor),
    ("ceil", REAL, ceil),
    ("trunc", REAL, trunc),
    ("rint", REAL, rint),
    ("sqrt", REAL, sqrt),
):
    emits(_names, _dtypes)(_function)


@emits("conjugate", NUMBERS)
def conjugate(x: Any) -> Any:
    return Complex(x.real, -x.imag) if isinstance(x, Complex) else x


@emits("reciprocal", REAL + COMPLEX)
def reciprocal(x: Any) -> Any:
    if isinstance(x, Value):
        return 1.0 / x
    wide = abs(x.real) >= abs(x.imag)
    major, minor = select(wide, x.real, x.imag), select(wide, x.imag, x.real)
    ratio = minor / major
    size = major + minor * ratio
    return Complex(select(wide, 1.0, ratio) / size, select(wide, -ratio, -1.0) / size)


@emits("sign", INTEGER + REAL)
def sign(x: Value) -> Value:
    one = select(x > 0, x.number(1), select(x < 0, -x.number(1), x.number(0)))
    return select(isnan(x), x, one) if x.dtype.kind == "f" else one


@emits("heaviside", REAL)
def heaviside(x: Value, at_zero: Value) -> Value:
    return select(isnan(x), x, select(x == 0, at_zero, select(x < 0, x.number(0.0), 1.0)))


@emits("deg2rad radians", REAL)
def radians(x: Value) -> Value:
    pi = x.dtype.type(math.pi)
    return x * (pi / x.dtype.type(180))


@emits("rad2deg degrees", REAL)
def degrees(x: Value) -> Value:
    pi = x.dtype.type(math.pi)  # as NumPy: the quotient of rounded numbers
    return x * (x.dtype.type(180) / pi)


def _divisible(x: Value, y: Value) -> tuple[Value, Value, Value]:
    """Whether y is 0, and operands whose quotient the hardware can compute: 0 / 1 for x / 0.

    The quotient of the least integer and -1, which has no bits, is taken as that of 1 less.
    """
    zero = y == 0
    if x.dtype.kind == "i":
        out = (x == np.iinfo(x.dtype).min) & (y == -1)
        return zero, select(zero, 0, x), select(zero | out, 1, y)
    return zero, select(zero, 0, x), select(zero, 1, y)


@emits("floor_divide", INTEGER + REAL)
def floor_divide(x: Value, y: Value) -> Value:
    if x.dtype.kind == "f":
        return _real_divmod(x, y)[0]
    _, a, b = _divisible(x, y)
    quotient = truncated_quotient(a, b)
    if x.dtype.kind == "u":
        return quotient
    down = (quotient * b != a) & ((a < 0) != (b < 0))
    return quotient - convert(down, x.dtype)


@emits("remainder", INTEGER + REAL)
def modulo(x: Value, y: Value) -> Value:
    if x.dtype.kind == "f":
        return _real_divmod(x, y)[1]
    _, a, b = _divisible(x, y)
    left = remainder(a, b)
    if x.dtype.kind == "u":
        return left
    return select((left != 0) & ((left < 0) != (b < 0)), left + b, left)


@emits("fmod", INTEGER + REAL)
def truncated_modulo(x: Value, y: Value) -> Value:
    if x.dtype.kind == "f":
        return remainder(x, y)
    _, a, b = _divisible(x, y)
    return remainder(a, b)


def _real_divmod(x: Value, y: Value) -> tuple[Value, Value]:
    """Python's divmod of floats, as NumPy computes it: from the exact remainder."""
    left = remainder(x, y)
    quotient = (x - left) / y
    other = (left != 0) & ((left < 0) != (y < 0))
    modulus = select(left == 0, copysign(x.number(0.0), y), select(other, left + y, left))
    quotient = select(other, quotient - 1.0, quotient)
    lower = floor(quotient)
    whole = select(quotient - lower > 0.5, lower + 1.0, lower)
    whole = select(quotient == 0, copysign(x.number(0.0), x / y), whole)
    return select(y == 0, x / y, whole), select(y == 0, left, modulus)


@emits("divmod", INTEGER + REAL)
def both(x: Value, y: Value) -> tuple[Value, Value]:
    return (floor_divide(x, y), modulo(x, y)) if x.dtype.kind != "f" else _real_divmod(x, y)


@emits("modf", REAL)
def modf(x: Value) -> tuple[Value, Value]:
    whole = trunc(x)
    left = select(abs(x) == math.inf, x.number(0.0), x - whole)
    return copysign(left, x), whole


@emits("nextafter", REAL)
def nextafter(x: Value, y: Value) -> Value:
    up = (y > x) == (x > 0)
    stepped = from_bits(bits(x) + select(up, bits(x).number(1), -1))
    least = copysign(from_bits(bits(x).number(1)), y)
    moved = select(x == 0, least, stepped)
    return select(isnan(x) | isnan(y), x + y, select(x == y, y, moved))
