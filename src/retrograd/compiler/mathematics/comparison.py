"""Comparisons, logic, bits, and the larger and smaller of two numbers, with NumPy's rules for NaN.

Complex numbers are ordered by their real parts first.
"""

from __future__ import annotations

import math
from typing import Any

from ..values import Complex, Value, bits, convert, isnan, select
from .table import BOOL, COMPLEX, INTEGER, REAL, emits

__all__: list[str] = []

ORDERED = BOOL + INTEGER + REAL


@emits("equal", ORDERED + COMPLEX)
def equal(x: Any, y: Any) -> Value:
    return x == y


@emits("not_equal", ORDERED + COMPLEX)
def not_equal(x: Any, y: Any) -> Value:
    return x != y


@emits("less", ORDERED)
def less(x: Value, y: Value) -> Value:
    return x < y


@emits("less_equal", ORDERED)
def less_equal(x: Value, y: Value) -> Value:
    return x <= y


@emits("greater", ORDERED)
def greater(x: Value, y: Value) -> Value:
    return x > y


@emits("greater_equal", ORDERED)
def greater_equal(x: Value, y: Value) -> Value:
    return x >= y


# Of two zeros, the second is the larger and the smaller one: NumPy's choice.
@emits("maximum", ORDERED)
def maximum(x: Value, y: Value) -> Value:
    first = x > y
    return select(first | isnan(x) if x.dtype.kind == "f" else first, x, y)


@emits("minimum", ORDERED)
def minimum(x: Value, y: Value) -> Value:
    first = x < y
    return select(first | isnan(x) if x.dtype.kind == "f" else first, x, y)


@emits("fmax", ORDERED)
def fmax(x: Value, y: Value) -> Value:
    first = x > y
    return select(first | isnan(y) if x.dtype.kind == "f" else first, x, y)


@emits("fmin", ORDERED)
def fmin(x: Value, y: Value) -> Value:
    first = x < y
    return select(first | isnan(y) if x.dtype.kind == "f" else first, x, y)


@emits("clip", ORDERED)
def clip(x: Value, low: Value, high: Value) -> Value:
    return minimum(maximum(x, low), high)


def truth(x: Any) -> Value:
    """Whether a value counts as true; NaN does."""
    return convert(x, bool)


@emits("logical_and", ORDERED + COMPLEX)
def logical_and(x: Any, y: Any) -> Value:
    return truth(x) & truth(y)


@emits("logical_or", ORDERED + COMPLEX)
def logical_or(x: Any, y: Any) -> Value:
    return truth(x) | truth(y)


@emits("logical_xor", ORDERED + COMPLEX)
def logical_xor(x: Any, y: Any) -> Value:
    return truth(x) ^ truth(y)


@emits("logical_not", ORDERED + COMPLEX)
def logical_not(x: Any) -> Value:
    return ~truth(x)


@emits("bitwise_and", BOOL + INTEGER)
def bitwise_and(x: Value, y: Value) -> Value:
    return x & y


@emits("bitwise_or", BOOL + INTEGER)
def bitwise_or(x: Value, y: Value) -> Value:
    return x | y


@emits("bitwise_xor", BOOL + INTEGER)
def bitwise_xor(x: Value, y: Value) -> Value:
    return x ^ y


@emits("invert", BOOL + INTEGER)
def invert(x: Value) -> Value:
    return ~x


@emits("left_shift", INTEGER)
def left_shift(x: Value, y: Value) -> Value:
    inside = (y >= 0) & (y < 8 * x.dtype.itemsize)
    return select(inside, x << select(inside, y, 0), 0)


@emits("right_shift", INTEGER)
def right_shift(x: Value, y: Value) -> Value:
    last = 8 * x.dtype.itemsize - 1
    inside = (y >= 0) & (y <= last)
    shifted = x >> select(inside, y, 0)
    return select(inside, shifted, x >> last if x.dtype.kind == "i" else 0)


@emits("isnan", REAL + COMPLEX)
def is_nan(x: Any) -> Value:
    return isnan(x.real) | isnan(x.imag) if isinstance(x, Complex) else isnan(x)


@emits("isinf", REAL + COMPLEX)
def is_inf(x: Any) -> Value:
    return is_inf(x.real) | is_inf(x.imag) if isinstance(x, Complex) else abs(x) == math.inf


@emits("isfinite", REAL + COMPLEX)
def is_finite(x: Any) -> Value:
    return is_finite(x.real) & is_finite(x.imag) if isinstance(x, Complex) else abs(x) < math.inf


@emits("signbit", REAL)
def signbit(x: Value) -> Value:
    return bits(x) < 0


@emits("where", ORDERED + COMPLEX)
def where(condition: Value, x: Any, y: Any) -> Any:
    return select(condition, x, y)
