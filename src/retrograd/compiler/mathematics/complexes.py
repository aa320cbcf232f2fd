"""Functions of complex numbers, from those of their parts, with C's values at infinities and NaN.

Those of complex64, but for the quickest, are computed in complex128: nothing overflows on the way.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..values import Complex, Value, convert, copysign, fma, isnan, select, sqrt
from .exponential import cosh, exp, exp_pair, expm1, sinh
from .formats import scaled
from .logarithm import log, log1p
from .powers import hypot
from .table import COMPLEX, emits
from .trigonometry import arctan2, cos, sin, sum_of, tan

if TYPE_CHECKING:
    from collections.abc import Callable

__all__: list[str] = []

LARGE = 22.0  # beyond, cosh(x) and sinh(|x|) are exp(|x|) / 2
FAR = 1400.0  # beyond, they overflow whatever they are multiplied by


def in_double(function: Callable[[Complex], Complex]) -> Callable[[Complex], Complex]:
    """A function of complex128 alone, of complex64 through it."""

    def either(z: Complex) -> Complex:
        return convert(function(convert(z, np.complex128)), z.dtype)

    either.__name__, either.__doc__ = function.__name__, function.__doc__
    return either


def turned(z: Complex) -> Complex:
    """i z."""
    return Complex(-z.imag, z.real)


def turned_back(z: Complex) -> Complex:
    """-i z."""
    return Complex(z.imag, -z.real)


emits("absolute", COMPLEX)(lambda z: hypot(z.real, z.imag))


@emits("sign", COMPLEX)
def sign(z: Complex) -> Complex:
    """z / |z|, which may overflow; 0 at 0, and of one infinite part the direction of it."""
    x, y = z.real, z.imag
    end = x.number(np.finfo(x.dtype).max / 2)
    scale = select((abs(x) > end) | (abs(y) > end), x.number(0.5), 1.0)
    x, y = x * scale, y * scale
    size = hypot(x, y)
    up, right = abs(y) == math.inf, abs(x) == math.inf
    none = size == 0
    real = select(right & ~up, copysign(x.number(1.0), x), select(up & ~right, 0.0, x / size))
    imag = select(up & ~right, copysign(y.number(1.0), y), select(right & ~up, 0.0, y / size))
    return Complex(select(none, 0.0, real), select(none, 0.0, imag))


@emits("exp", COMPLEX)
def exponential(z: Complex) -> Complex:
    """exp(x) (cos y + i sin y), scaled last."""
    x, y = z.real, z.imag
    end = {4: 170.0, 8: 1400.0}[x.dtype.itemsize]
    high, low, k = exp_pair(select(x > end, end, select(x < -end, -end, x)))
    size = high + low
    c, s = cos(y), sin(y)
    real, imag = scaled(size * c, k), scaled(size * s, k)
    up, down = x > end, x == -math.inf
    real, imag = select(up, math.inf * c, real), select(up, math.inf * s, imag)
    lost = isnan(c)
    real = select(lost & down, 0.0, select(lost & (x == math.inf), x, real))
    imag = select(lost & down, 0.0, imag)
    return Complex(select(y == 0, exp(x), real), select(y == 0, y, imag))


@emits("exp2", COMPLEX)
@in_double
def exponential2(z: Complex) -> Complex:
    """exp(z log(2))."""
    return exponential(Complex(z.real * math.log(2), z.imag * math.log(2)))


@emits("expm1", COMPLEX)
@in_double
def exponential_less_one(z: Complex) -> Complex:
    """expm1(x) cos y - 2 sin(y / 2)^2, and the imaginary part of exp(z)."""
    half = sin(z.imag * 0.5)
    real = expm1(z.real) * cos(z.imag) - 2.0 * half * half
    return Complex(real, exp(z.real) * sin(z.imag))


@emits("log", COMPLEX)
@in_double
def logarithm(z: Complex) -> Complex:
    """log |z| and the angle; near |z| = 1, log1p(|z|^2 - 1) / 2 of an exact difference."""
    x, y = abs(z.real), abs(z.imag)
    more = x > y
    high, low = select(more, x, y), select(more, y, x)
    near = (high > 0.5) & (high < 2.0)
    a, b = select(near, high, 1.0), select(near, low, 0.0)
    first, second = a * a, b * b
    total, lost = sum_of(first - 1.0, second)
    rest, least = sum_of(fma(a, a, -first), fma(b, b, -second))
    rest, less = sum_of(lost, rest)
    total, lost = sum_of(total, rest)
    excess = total + (lost + (less + least))
    real = select(near, 0.5 * log1p(excess), log_of_length(high, low))
    return Complex(real, arctan2(z.imag, z.real))


def log_of_length(high: Value, low: Value) -> Value:
    """log(sqrt(high^2 + low^2)), which has no overflow though the length may."""
    large, small = high > 2.0**1000, high < 2.0**-1000
    scale = select(large, high.number(2.0**-60), select(small, high.number(2.0**60), 1.0))
    shift = 60 * math.log(2)
    back = select(large, high.number(shift), select(small, high.number(-shift), 0.0))
    return log(hypot(high * scale, low * scale)) + back


@emits("log10", COMPLEX)
@in_double
def logarithm10(z: Complex) -> Complex:
    """log(z) / log(10)."""
    found = logarithm(z)
    return Complex(found.real * (1 / math.log(10)), found.imag * (1 / math.log(10)))


@emits("log2", COMPLEX)
@in_double
def logarithm2(z: Complex) -> Complex:
    """log(z) / log(2)."""
    found = logarithm(z)
    return Complex(found.real * (1 / math.log(2)), found.imag * (1 / math.log(2)))


@emits("log1p", COMPLEX)
@in_double
def logarithm1p(z: Complex) -> Complex:
    """log(1 + z) as NumPy computes it: log |1 + z| and the angle of 1 + z."""
    real = z.real + 1.0
    return Complex(log(hypot(real, z.imag)), arctan2(z.imag, real))


@emits("sqrt", COMPLEX)
@in_double
def root(z: Complex) -> Complex:
    """sqrt(z): its larger part is sqrt((|x| + |z|) / 2), the other y over twice that."""
    x, y = z.real, z.imag
    large = (abs(x) > 2.0**1020) | (abs(y) > 2.0**1020)
    small = (abs(x) < 2.0**-1000) & (abs(y) < 2.0**-1000)
    scale = select(large, x.number(2.0**-4), select(small, x.number(2.0**60), 1.0))
    back = select(large, x.number(4.0), select(small, x.number(2.0**-30), 1.0))
    a, b = x * scale, y * scale
    major = sqrt((abs(a) + hypot(a, b)) * 0.5)
    minor = select(major == 0, 0.0, abs(b) / (major + major))
    right = x >= 0
    real, imag = select(right, major, minor) * back, select(right, minor, major) * back
    infinite = abs(y) == math.inf
    imag = select((x == math.inf) & (abs(y) < math.inf), 0.0, imag)
    real = select((x == -math.inf) & (abs(y) < math.inf), 0.0, real)
    real = select((x == math.inf) | infinite, math.inf, real)
    imag = select((x == -math.inf) | infinite, math.inf, imag)
    return Complex(real, copysign(imag, y))


def grown(x: Value) -> tuple[Value, Value, Value]:
    """(cosh(x), sinh(x)) of large |x| as numbers to be scaled by 2**k, of others with k = 0."""
    size = abs(x)
    big = size > LARGE
    high, low, k = exp_pair(select(size > FAR, FAR, select(big, size, LARGE)))
    huge = high + low
    bounded = select(big, 0.0, x)
    c = select(big, huge, cosh(bounded))
    s = select(big, copysign(huge, x), sinh(bounded))
    return c, s, select(big, k - 1, 0)


@emits("cosh", COMPLEX)
@in_double
def hyperbolic_cosine(z: Complex) -> Complex:
    """cosh x cos y + i sinh x sin y."""
    x, y = z.real, z.imag
    c, s, k = grown(x)
    real, imag = scaled(c * cos(y), k), scaled(s * sin(y), k)
    beyond = copysign(x.number(math.inf), x)
    real = select(abs(x) > FAR, math.inf * cos(y), real)
    imag = select(abs(x) > FAR, beyond * sin(y), imag)
    real = select((abs(x) == math.inf) & isnan(real), math.inf, real)
    flat = ((x == 0) | (y == 0)) & isnan(imag)
    zero = copysign(x.number(1.0), x) * copysign(y.number(0.0), y)
    return Complex(real, select(flat, zero, imag))


@emits("sinh", COMPLEX)
@in_double
def hyperbolic_sine(z: Complex) -> Complex:
    """sinh x cos y + i cosh x sin y."""
    x, y = z.real, z.imag
    c, s, k = grown(x)
    real, imag = scaled(s * cos(y), k), scaled(c * sin(y), k)
    infinite, beyond = abs(x) == math.inf, copysign(x.number(math.inf), x)
    real = select(abs(x) > FAR, beyond * cos(y), real)
    imag = select(abs(x) > FAR, math.inf * sin(y), imag)
    lost = infinite & isnan(imag) & (y != 0)
    real = select(lost, math.inf, real)
    return Complex(select((x == 0) & isnan(real), x, real), select(y == 0, y, imag))


@emits("tanh", COMPLEX)
@in_double
def hyperbolic_tangent(z: Complex) -> Complex:
    """W. Kahan's form, in tan y and sinh x; of large |x|, what is left of it."""
    x, y = z.real, z.imag
    big = abs(x) > LARGE
    t, s = tan(y), sinh(select(big, 0.0, x))
    beta = fma(t, t, 1.0)
    rho = sqrt(fma(s, s, 1.0))
    below = fma(beta * s, s, 1.0)
    real, imag = beta * rho * s / below, t / below
    size = abs(x)
    small = 4.0 * sin(y) * cos(y) * exp(select(size > 400.0, -800.0, size * -2.0))
    real, imag = select(big, copysign(x.number(1.0), x), real), select(big, small, imag)
    lost = isnan(t)
    real = select(lost & (size < math.inf), select(x == 0, x, t), real)
    imag = select(lost & (size == math.inf), copysign(y.number(0.0), y), imag)
    return Complex(real, select(y == 0, y, imag))


@emits("cos", COMPLEX)
def cosine(z: Complex) -> Complex:
    """cosh(i z)."""
    return hyperbolic_cosine(turned(z))


@emits("sin", COMPLEX)
def sine(z: Complex) -> Complex:
    """-i sinh(i z)."""
    return turned_back(hyperbolic_sine(turned(z)))


@emits("tan", COMPLEX)
def tangent(z: Complex) -> Complex:
    """-i tanh(i z)."""
    return turned_back(hyperbolic_tangent(turned(z)))
