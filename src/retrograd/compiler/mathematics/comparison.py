"""Comparisons, logic, bits, and the larger and smaller of two numbers, with NumPy's rules for NaN.

Complex numbers are ordered by their real parts first.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from ..values import Complex, Value, bits, convert, isnan, select
from .table import BOOL, COMPLEX, INTEGER, REAL, emits

if TYPE_CHECKING:
    from collections.abc import Callable

__all__: list[str] = []

ORDERED = BOOL + INTEGER + REAL


def truth(x: Any) -> Value:
    """Whether a value counts as true; NaN does."""
    return convert(x, bool)


for _name, _dtypes, _function in (
    ("equal", ORDERED + COMPLEX, operator.eq),
    ("not_equal", ORDERED + COMPLEX, operator.ne),
    ("less", ORDERED, operator.lt),
    ("less_equal", ORDERED, operator.le),
    ("greater", ORDERED, operator.gt),
    ("greater_equal", ORDERED, operator.ge),
    ("logical_and", ORDERED + COMPLEX, lambda x, y: truth(x) & truth(y)),
    ("logical_or", ORDERED + COMPLEX, lambda x, y: truth(x) | truth(y)),
    ("logical_xor", ORDERED + COMPLEX, lambda x, y: truth(x) ^ truth(y)),
    ("logical_not", ORDERED + COMPLEX, lambda x: ~truth(x)),
    ("bitwise_and", BOOL + INTEGER, operator.and_),
    ("bitwise_or", BOOL + INTEGER, operator.or_),
    ("bitwise_xor", BOOL + INTEGER, operator.xor),
    ("invert", BOOL + INTEGER, operator.invert),
    ("where", ORDERED + COMPLEX, select),
):
    emits(_name, _dtypes)(_function)


def chosen(relation: Callable[..., Value], passed: int) -> Callable[[Value, Value], Value]:
    """The operand that stands first in the relation, or x if the one at place `passed` is NaN.

    Of two zeros, the second is the larger and the smaller one: NumPy's choice.
    """

    def function(x: Value, y: Value) -> Value:
        first = relation(x, y)
        return select(first | isnan((x, y)[passed]) if x.dtype.kind == "f" else first, x, y)

    return function


maximum, minimum = chosen(operator.gt, 0), chosen(operator.lt, 0)
emits("maximum", ORDERED)(maximum)
emits("minimum", ORDERED)(minimum)
emits("fmax", ORDERED)(chosen(operator.gt, 1))
emits("fmin", ORDERED)(chosen(operator.lt, 1))


@emits("clip", ORDERED)
def clip(x: Value, low: Value, high: Value) -> Value:
    return minimum(maximum(x, low), high)


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
