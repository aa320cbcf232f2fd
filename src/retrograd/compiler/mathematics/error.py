"""The error function, its complement, and the normal distribution."""

from __future__ import annotations

import math

from ..values import Value, copysign, fma, isnan, select
from . import polynomials
from .exponential import exp, expm1
from .formats import horner, widely
from .table import REAL, emits

__all__ = ["erf", "erfc"]

ROOT_HALF = (0.7071067811865476, -4.833646656726457e-17)  # a pair


@emits("erf", REAL)
def erf(x: Value) -> Value:
    """Within 1, x + x P(x^2); beyond, 1 less the complement."""
    size, square = abs(x), x * x
    if x.dtype.itemsize == 4:
        near = fma(horner(square, polynomials.ERF_32), x, x)
        far = -expm1(horner(select(size > 4.0, 4.0, size), polynomials.LOG_ERFC_32))
    else:
        near = fma(horner(square, polynomials.ERF_64), x, x)
        end = select(size > 6.0, 6.0, size)
        t = 1.0 / (end + 2.0)
        far = fma(exp(-end * end), -(horner(t, polynomials.ERF_TAIL_64) * t), 1.0)
    return select(size < 1.0, near, select(isnan(x), x, copysign(far, x)))


def scaled_complement(x: Value) -> Value:
    """exp(x^2) erfc(x) of float64 x >= 1/2."""
    t = select(x < math.inf, (x - 4.0) / (x + 4.0), 1.0)
    return 0.5 * horner(t, polynomials.ERFCX_64) / (x + 0.5)


def gauss(x: Value, low: Value) -> Value:
    """exp(-(x + low)^2), with what x^2 rounds away."""
    x = select(x > 30.0, 30.0, x)
    square = x * x
    lost = fma(x, x, -square) + 2.0 * x * low
    height = exp(-square)
    return fma(height, -lost, height)


def complement(x: Value, low: Value) -> Value:
    """erfc(x + low) of float64."""
    size = abs(x)
    tail = gauss(size, copysign(x.number(1.0), x) * low) * scaled_complement(size)
    square = x * x
    near = fma(-x, horner(square, polynomials.ERF_64), (1.0 - x) - low)
    far = select(x < 0, 2.0 - tail, tail)
    return select(size < 0.5, near, select(isnan(x), x, far))


@emits("erfc", REAL)
@widely
def erfc(x: Value) -> Value:
    """1 - erf(x), exact where it is small."""
    return complement(x, x.number(0.0))


@emits("erfcx", REAL)
@widely
def erfcx(x: Value) -> Value:
    """exp(x^2) erfc(x)."""
    square = x * x
    lost = select(square < 1e4, fma(x, x, -square), 0.0)
    height = exp(square)
    height = select(height < math.inf, fma(height, lost, height), height)
    near = height * erfc(select(x < 0.5, x, 0.0))
    near = select(x < -30.0, math.inf, near)
    return select(x < 0.5, near, scaled_complement(x))


@emits("ndtr", REAL)
@widely
def ndtr(x: Value) -> Value:
    """erfc(-x / sqrt(2)) / 2."""
    a, b = ROOT_HALF
    bounded = select(x > 50.0, 50.0, select(x < -50.0, -50.0, x))
    high = bounded * -a
    low = fma(bounded, -a, -high) - bounded * b
    return 0.5 * complement(high, low)
