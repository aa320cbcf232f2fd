"""Exponentials and hyperbolic functions: x = n log(2) + r, and polynomials in r.

`tests/compiler/test_mathematics.py` says how far each is from the exact value.
"""

from __future__ import annotations

import math

from ..values import Value, bits, copysign, fma, from_bits, select
from . import polynomials
from .formats import format_of, horner, nearest, power_of_two, scaled
from .table import REAL, emits

__all__ = ["exp", "exp2", "exp2_pair", "exp_pair", "exp_within", "expm1", "expm1_pair"]

LOG2_E = 1 / math.log(2)
# ends of the ranges, of float32 and float64: what lies beyond has the value at the end
EXP_ENDS = {4: (-104.0, 89.0), 8: (-746.0, 710.0)}
EXP2_ENDS = {4: (-151.0, 129.0), 8: (-1076.0, 1025.0)}
EXPM1_ENDS = {4: (-18.0, 89.0), 8: (-38.0, 710.0)}
TANH_END = {4: 9.2, 8: 19.1}
COSH_END = {4: 90.0, 8: 711.0}
EXPM1 = {4: polynomials.EXPM1_32, 8: polynomials.EXPM1_64}
SINH = {4: polynomials.SINH_32, 8: polynomials.SINH_64}
LN2_LOW = {4: -1.9046542121259336e-09, 8: 2.3190468138462996e-17}  # log(2) less its nearest float


def clamped(x: Value, ends: dict[int, tuple[float, float]]) -> Value:
    """x within the ends; NaN stays."""
    low, high = ends[x.dtype.itemsize]
    x = select(x > high, high, x)
    return select(x < low, low, x)


def reduced(x: Value) -> tuple[Value, Value, Value]:
    """(k, r, low): x = k log(2) + r + low, |r| <= log(2) / 2, k an integer."""
    high, low = format_of(x).ln2
    n, k = nearest(x, LOG2_E)
    exact = fma(n, -high, x)
    r = fma(n, -low, exact)
    return k, r, fma(n, -low, exact - r)


def series(r: Value) -> Value:
    """(expm1(r) - r) / r^2."""
    return fma(horner(r, EXPM1[r.dtype.itemsize]), r, 0.5)


def one_more(r: Value) -> Value:
    """exp(r), to a unit of the last place."""
    return fma(series(r), r * r, r) + 1.0


def tail(r: Value, low: Value) -> Value:
    """expm1(r + low) - r."""
    return fma(series(r), r * r, low)


@emits("exp", REAL)
def exp(x: Value) -> Value:
    """e**x; where that is 0, of 0 and not by underflow, which takes processors long."""
    low, high = EXP_ENDS[x.dtype.itemsize]
    none = x < low
    k, r, _ = reduced(select(none, 0.0, select(x > high, high, x)))
    return select(none, 0.0, scaled(one_more(r), k))


def exp_within(x: Value) -> Value:
    """e**x, where both are far from the ends of their ranges."""
    k, r, _ = reduced(x)
    return from_bits(bits(one_more(r)) + (k << format_of(x).mantissa))


@emits("exp2", REAL)
def exp2(x: Value) -> Value:
    """2**x."""
    return exp2_pair(x, x.number(0.0))


def exp2_pair(x: Value, low: Value) -> Value:
    """2**(x + low), where low is small beside 1."""
    x = clamped(x, EXP2_ENDS)
    n, k = nearest(x, 1.0)
    left = x - n
    high = left * math.log(2)
    more = fma(left + low, LN2_LOW[x.dtype.itemsize], low * math.log(2))
    rest = fma(left, x.dtype.type(math.log(2)).item(), -high) + more
    r = high + rest
    return scaled(1.0 + (r + tail(r, (high - r) + rest)), k)


def exp_pair(x: Value) -> tuple[Value, Value, Value]:
    """e**x as a pair, and an integer k: to be scaled by 2**k."""
    k, r, low = reduced(x)
    high = 1.0 + r
    return high, ((1.0 - high) + r) + tail(r, low), k


def expm1_pair(x: Value) -> tuple[Value, Value]:
    """expm1(x) as a pair, for x whose exponential does not overflow."""
    k, r, low = reduced(x)
    scale = power_of_two(k)
    above = scale - 1.0
    high = fma(scale, r, above)
    rest = fma(scale, tail(r, low), fma(scale, r, above - high))
    total = high + rest
    return total, (high - total) + rest


@emits("expm1", REAL)
def expm1(x: Value) -> Value:
    """e**x - 1, halved on the way so that nothing overflows early."""
    k, r, low = reduced(clamped(x, EXPM1_ENDS))
    scale = power_of_two(k - 1)
    half = fma(scale, tail(r, low), fma(scale, r, scale - 0.5))
    tiny = 2.0 ** -(format_of(x).mantissa + 2)
    return select(abs(x) < tiny, x, half * 2.0)


@emits("tanh", REAL)
def tanh(x: Value) -> Value:
    """expm1(2 x) / (expm1(2 x) + 2), with the quotient's remainder."""
    end = TANH_END[x.dtype.itemsize]
    size = abs(x)
    size = select(size > end, end, size)
    high, low = expm1_pair(size + size)
    below = high + 2.0
    rest = ((2.0 - below) + high) + low
    inverse = 1.0 / below
    quotient = high * inverse
    left = fma(-quotient, below, high) + fma(-quotient, rest, low)
    return copysign(fma(left, inverse, quotient), x)


def half_exp(x: Value) -> Value:
    """exp(x) / 2, which overflows later than exp(x)."""
    high, low, k = exp_pair(x)
    return scaled(high + low, k - 1)


@emits("cosh", REAL)
def cosh(x: Value) -> Value:
    """Half the sum of exp(x) and exp(-x)."""
    end, size = COSH_END[x.dtype.itemsize], abs(x)
    half = half_exp(select(size > end, end, size))
    return half + 0.25 / half


@emits("sinh", REAL)
def sinh(x: Value) -> Value:
    """Half the difference of exp(x) and exp(-x); within 1, a polynomial."""
    end, size = COSH_END[x.dtype.itemsize], abs(x)
    half = half_exp(select(size > end, end, size))
    square = x * x
    near = fma(horner(square, SINH[x.dtype.itemsize]) * square, x, x)
    return select(size < 1.0, near, copysign(half - 0.25 / half, x))
