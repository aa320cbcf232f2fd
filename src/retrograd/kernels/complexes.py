"""Elementary functions of complex arrays that NumPy lacks, or has with fewer digits than it could.

Each is within 4 units in the last place of its modulus, near poles, zeros and branch points too,
and signed zeros say on which side of a branch cut a number is, as in C99: so nothing is added to a
number as a whole, which would lose the sign of its zero, but to its real part. Those of complex64
are computed in complex128.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .allocation import empty_beside

if TYPE_CHECKING:
    from collections.abc import Callable

# Constants and what their rounding has lost.
PI, PI_LOW = math.pi, 1.2246467991473532e-16
LN2, LN2_LOW = math.log(2.0), 2.3190468138462996e-17
SPLITTER = 134217729.0  # 2^27 + 1: Veltkamp's, of a product into halves of 26 bits


def in_double(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of complex128, of complex64 too."""

    def either(z: Any, *more: Any) -> Any:
        if z.dtype.itemsize == 16:
            return function(z, *more)
        wide = [x.astype(np.complex128) if hasattr(x, "dtype") else x for x in (z, *more)]
        return function(*wide).astype(z.dtype)

    return either


def joined(real: Any, imag: Any) -> Any:
    """The complex array of two parts, which keeps signed zeros and infinities apart."""
    out = empty_beside(real, np.result_type(real.dtype, np.complex64))
    out.real[...], out.imag[...] = real, imag
    return out


def turned(z: Any) -> Any:
    """Complex numbers times i, part by part."""
    return joined(-z.imag, z.real)


def halves(x: Any) -> tuple[Any, Any]:
    """A number as the sum of two of 26 bits each."""
    high = x * SPLITTER
    high = high - (high - x)
    return high, x - high


def product(x: Any, constant: float, low: float) -> tuple[Any, Any]:
    """x * (constant + low) as a sum of two, exact to twice the precision. Source: Dekker, 1971."""
    found = x * constant
    (a, b), (c, d) = halves(x), halves(constant)
    rest = ((a * c - found) + a * d + b * c) + b * d + x * low
    return found, np.where(np.isfinite(rest), rest, 0.0)


@in_double
def log1p(z: Any) -> Any:
    """log(1 + z); where z is small, NumPy's loses as many digits as z has zeros."""
    re, im = z.real, z.imag
    out = np.log(joined(re + 1, im))
    near = np.where(z == 0, re, np.log1p(re * (re + 2) + im * im) / 2)
    return joined(np.where(np.abs(z) < 0.5, near, out.real), out.imag)


@in_double
def exp2(z: Any) -> Any:
    """2 ** z, whose angle is exact before it is reduced."""
    angle, rest = product(z.imag, LN2, LN2_LOW)
    root = np.exp2(z.real / 2)  # its square may overflow where the result does not
    angle = np.where((root == 0) & ~np.isfinite(angle), 0, angle)  # of 0, whatever it is
    rest = np.where(np.isfinite(rest), rest, 0)
    cos, sin, less, more = np.cos(angle), np.sin(angle), np.cos(rest), np.sin(rest)
    real, imag = (cos * less - sin * more) * root * root, (sin * less + cos * more) * root * root
    return joined(real, np.where(z.imag == 0, z.imag, imag))


def one_and_exp(z: Any) -> tuple[Any, Any]:
    """1 + exp(z) where Re z <= 0, by expm1 near its zeros, odd multiples of i pi; and where."""
    half_turns = np.rint(z.imag / PI)
    high, low = product(half_turns, PI, PI_LOW)
    nearest = joined(z.real, (z.imag - high) - low)
    near = (half_turns % 2 == 1) & (np.abs(nearest) < 1)
    return np.where(near, -np.expm1(np.where(near, nearest, 0)), 1.0 + np.exp(z)), near


@in_double
def sigmoid(z: Any) -> Any:
    """1 / (1 + exp(-z)), whose poles are odd multiples of i pi."""
    left = z.real < 0  # where exp(-z) may overflow, which complex division does not survive
    low = np.where(left, z, -z)
    below, near = one_and_exp(low)
    return np.where(left, np.where(near, below - 1.0, np.exp(low)), 1.0) / below


@in_double
def softplus(z: Any) -> Any:
    """log(1 + exp(z)), the principal one, without overflow."""
    right = z.real > 0
    low = np.where(right, -z, z)
    sum_, near = one_and_exp(low)
    found = np.where(near, np.log(sum_), log1p(np.exp(low)))
    turns = np.where(right, np.rint((z.imag + found.imag) / (2.0 * PI)), 0.0)
    high, rest = product(2.0 * turns, PI, PI_LOW)
    imag = ((z.imag - high) - rest) + found.imag
    return np.where(right, joined(z.real + found.real, imag), found)


@in_double
def logit(z: Any) -> Any:
    """log(z / (1 - z)), near its zero 1/2 as an inverse hyperbolic tangent."""
    near, far = np.abs(z - 0.5) < 0.25, np.abs(z) > 2.0
    about = 2.0 * np.arctanh(joined(2.0 * z.real - 1.0, 2.0 * z.imag))
    below = joined(-z.real, -z.imag)
    found = np.where(near, about, np.log(z) - log1p(below))
    beyond = -log1p(1.0 / np.where(far, below, 1.0))
    return np.where(far, joined(beyond.real, beyond.imag + np.copysign(PI, z.imag)), found)


@in_double
def sine_of_pi(z: Any, cosine: bool = False) -> Any:
    """sin(pi z), or cos(pi z), where -1/2 <= Re z <= 1/2."""
    real, imag = (product(part, PI, PI_LOW) for part in (z.real, z.imag))
    u, rest = joined(real[0], imag[0]), joined(real[1], imag[1])
    if cosine:
        return np.cos(u) - rest * np.sin(u)
    return np.sin(u) + rest * np.cos(u)


@in_double
def atan2(y: Any, x: Any) -> Any:
    """-i log((x + iy) / sqrt(x^2 + y^2)), the continuation of the real function.

    That has the digits of log near 1, so it says only by which multiple of pi atan(y / x) is off.
    """
    u, v = x + 1j * y, x - 1j * y
    radius = np.sqrt(u) * np.sqrt(v)  # u * v may overflow, and its root lie on another sheet
    whole = -1j * np.log(u / np.where(radius.real < 0, -radius, radius))
    part = np.arctan(y / x)
    moved = part + PI * np.rint((whole - part).real / PI)
    return np.where(np.isfinite(part), moved, whole)
