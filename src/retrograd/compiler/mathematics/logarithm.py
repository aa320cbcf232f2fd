"""Logarithms, x = 2**e (1 + f) and a series in f; inverse hyperbolic functions by log1p."""

from __future__ import annotations

import math

from ..values import Value, assumed, copysign, fma, select, sqrt
from . import polynomials
from .exponential import exp, exp2
from .formats import format_of, horner, split, split_normal, widely
from .table import REAL, emits

__all__ = ["log", "log1p", "log2", "log2_pair", "log_within"]

LN2 = math.log(2)
# pairs: 1 / log(2) and 1 / log(10) in float32 and float64, log10(2) with zeros at its end
LOG2_E = {
    4: (1.4426950216293335, 1.925963033500011519e-08),
    8: (1.4426950408889634, 2.0355273740931033e-17),
}
LOG10_E = {
    4: (0.4342944920063019, -1.0103049952192e-08),
    8: (0.4342944819032518, 1.098319650216765e-17),
}
TWO_THIRDS_LOW = 3.700743415417188e-17  # 2 / 3 less its nearest float64
LOG10_2 = {
    4: (0.301025390625, 4.605038981195214e-06),
    8: (0.30102999566383914, 1.4205023227266099e-13),
}


def rest_of(f: Value) -> Value:
    """log(1 + f) - f."""
    if f.dtype.itemsize == 4:
        square = f * f
        return fma(horner(f, polynomials.LOG_32), square * f, square * -0.5)
    half = 0.5 * f * f
    s = f / (2.0 + f)
    z = s * s
    return fma(s, fma(horner(z, polynomials.LOG_SERIES_64), z, half), -half)


def completed(x: Value, found: Value) -> Value:
    """`found` where x is positive and finite, else what a logarithm is there."""
    special = select(x == 0, -math.inf, select(x < 0, x.number(math.nan), x))
    return select((x > 0) & (x < math.inf), found, special)


def joined(e: Value, f: Value) -> Value:
    """log(2**e (1 + f))."""
    high, low = format_of(f).ln2
    return fma(e, high, f + fma(e, low, rest_of(f)))


@emits("log", REAL)
def log(x: Value) -> Value:
    """The natural logarithm."""
    form = format_of(x)
    if assumed((x >= 2.0 ** (1 - form.bias)) & (x < math.inf)):
        return log_within(x)
    return completed(x, joined(*split(x)))


def log_within(x: Value) -> Value:
    """The natural logarithm of a number that is positive, finite and not subnormal."""
    return joined(*split_normal(x))


@emits("log1p", REAL)
def log1p(x: Value) -> Value:
    """log(1 + x), with what 1 + x rounds away."""
    u = 1.0 + x
    lost = select(abs(x) < 1.0, x - (u - 1.0), 1.0 - (u - x))
    e, f = split(u)
    high, low = format_of(x).ln2
    found = fma(e, high, f + (fma(e, low, rest_of(f)) + lost / u))
    return copysign(completed(u, found), x)


def _based(e: Value, f: Value, inverse: tuple[float, float]) -> tuple[Value, Value, Value]:
    """e, and log(1 + f) times a pair, as a pair."""
    a, b = inverse
    high = f * a
    return e, high, fma(rest_of(f), a, fma(f, b, fma(f, a, -high)))


@emits("log2", REAL)
def log2(x: Value) -> Value:
    """The logarithm to base 2, exact for its powers."""
    e, high, low = _based(*split(x), LOG2_E[x.dtype.itemsize])
    total = e + high
    return completed(x, total + (((e - total) + high) + low))


def log2_pair(x: Value) -> tuple[Value, Value]:
    """log2(x) of float64 to 2**-64 of it, as a pair; x is at least 0 or NaN."""
    e, f = split(x)
    below = 2.0 + f
    s = f / below
    s_low = (fma(-s, below, f) - s * ((2.0 - below) + f)) / below
    z = s * s
    z_low = fma(s, s, -z) + (s + s) * s_low
    rest = horner(z, polynomials.LOG_PAIR_64) * z
    third = rest + 2 / 3
    third_low = ((2 / 3 - third) + rest) + TWO_THIRDS_LOW
    p = z * third
    p_low = fma(z, third, -p) + fma(z, third_low, z_low * third)
    t = s * p
    t_low = fma(s, p, -t) + fma(s, p_low, s_low * p)
    high = fma(s, 2.0, t)
    low = fma(s, 2.0, -high) + t + (t_low + (s_low + s_low))
    a, b = LOG2_E[8]
    major = high * a
    minor = fma(high, a, -major) + fma(high, b, low * a)
    total = e + major
    rest = ((e - total) + major) + minor
    return completed(x, total), select((x > 0) & (x < math.inf), rest, 0.0)


@emits("log10", REAL)
def log10(x: Value) -> Value:
    """The logarithm to base 10."""
    e, high, low = _based(*split(x), LOG10_E[x.dtype.itemsize])
    a, b = LOG10_2[x.dtype.itemsize]
    major = e * a  # exact
    total = major + high
    return completed(x, total + (((major - total) + high) + fma(e, b, low)))


@emits("logaddexp", REAL)
def logaddexp(x: Value, y: Value) -> Value:
    """log(exp(x) + exp(y)), from the larger of the two."""
    gap = x - y
    more = log1p(exp(-abs(gap)))
    found = select(gap > 0, x, y) + more
    return select(x == y, x + LN2, found)


@emits("logaddexp2", REAL)
def logaddexp2(x: Value, y: Value) -> Value:
    """log2(2**x + 2**y), from the larger of the two."""
    gap = x - y
    more = log1p(exp2(-abs(gap))) * (1 / LN2)
    found = select(gap > 0, x, y) + more
    return select(x == y, x + 1.0, found)


@emits("arcsinh", REAL)
@widely
def arcsinh(x: Value) -> Value:
    """log1p(a + a^2 / (1 + sqrt(1 + a^2))) of a = |x|; of large ones log(2 a)."""
    size = abs(x)
    large = size > 2.0**28
    a = select(large, 1.0, size)
    square = a * a
    near = log1p(a + square / (1.0 + sqrt(1.0 + square)))
    return copysign(select(large, log(size) + LN2, near), x)


@emits("arccosh", REAL)
@widely
def arccosh(x: Value) -> Value:
    """log1p(t + sqrt(2 t + t^2)) of t = x - 1; of large ones log(2 x)."""
    large = x > 2.0**28
    t = select(large, 1.0, x - 1.0)
    near = log1p(t + sqrt(fma(t, t, t + t)))
    return select(large, log(x) + LN2, select(x < 1.0, x.number(math.nan), near))


@emits("arctanh", REAL)
@widely
def arctanh(x: Value) -> Value:
    """log1p(2 a / (1 - a)) / 2 of a = |x|."""
    size = abs(x)
    return copysign(0.5 * log1p((size + size) / (1.0 - size)), x)
