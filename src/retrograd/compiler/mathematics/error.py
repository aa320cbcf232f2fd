"""The error function, its complement and its inverse (M. Giles, 2011), the normal distribution."""

from __future__ import annotations

import math

from ..values import Value, copysign, fma, isnan, select, sqrt
from . import polynomials
from .exponential import exp, exp_within
from .formats import horner, widely
from .logarithm import log_within
from .table import REAL, emits

__all__ = ["erf", "erfc"]

ROOT_HALF = (0.7071067811865476, -4.833646656726457e-17)  # a pair


@emits("erf", REAL)
def erf(x: Value) -> Value:
    """erf(x): up to 1, x + x P(x^2); beyond, 1 less the complement."""
    size, square = abs(x), x * x
    if x.dtype.itemsize == 4:
        near = fma(horner(square, polynomials.ERF_32), x, x)
        end = select(size > 4.0, 4.0, size)
        far = 1.0 - exp_within(horner(end, polynomials.LOG_ERFC_32))
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


def single_complement(x: Value) -> Value:
    """erfc(x) of float32: exp(-x^2), with what x^2 rounds away, times a quotient of polynomials.

    The exponential is the one of -x * x, so that a formula that has both computes it once.
    """
    size, square = abs(x), x * x
    lost = fma(x, x, -square)
    ratio = horner(size, polynomials.ERFCX_ABOVE_32) / horner(size, polynomials.ERFCX_BELOW_32)
    tail = select(size > 11.0, 0.0, exp(-square) * fma(ratio, -lost, ratio))
    return select(x < 0, 2.0 - tail, tail)


@emits("erfc", REAL)
def erfc(x: Value) -> Value:
    """1 - erf(x), exact where it is small."""
    return single_complement(x) if x.dtype.itemsize == 4 else complement(x, x.number(0.0))


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


def single(x: Value, w: Value) -> Value:
    """erfinv(x) of float32 by w, within 1: x, or twice x, and x times the rest."""
    near = fma(horner(w, polynomials.ERFINV_NEAR_32), x, x)
    far = fma(horner(sqrt(w) - 3.0, polynomials.ERFINV_FAR_32), x, x + x)
    return select(w < 5.0, near, far)


def double(x: Value, w: Value) -> Value:
    """erfinv(x) of float64 by w, within 1."""
    root = sqrt(w)
    middle = select(w < 5.0, w - 2.5, 0.0)
    ratio = select(
        w < 5.0,
        horner(middle, polynomials.ERFINV_64),
        select(
            w < 16.0,
            horner(root - 3.0, polynomials.ERFINV_TAIL_64),
            horner(root - 5.0, polynomials.ERFINV_END_64),
        ),
    )
    return x * ratio


@emits("erfinv", REAL)
def erfinv(x: Value) -> Value:
    """x times a polynomial of w = -log(1 - x^2), or of the root of w where that is large."""
    size = abs(x)
    w = -log_within((1.0 - size) * (1.0 + size))
    found = (single if x.dtype.itemsize == 4 else double)(x, w)
    beyond = select(size == 1.0, x.number(math.inf), math.nan)
    return copysign(select(size < 1.0, found, beyond), x)
