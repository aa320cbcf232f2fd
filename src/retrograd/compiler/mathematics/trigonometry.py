"""Trigonometric functions: x = n pi/2 + r, and polynomials in r; their inverses.

NOTE [Large angles]
Up to `NEAR`, n pi/2 is subtracted in three parts of pi/2. Beyond, the bits of 2/pi that matter for
x depend on its exponent: `far` multiplies by a table's row of them (M. Payne and R. Hanek, 1983).
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ..values import (
    Value,
    assumed,
    bits,
    convert,
    copysign,
    fma,
    looked_up,
    rint,
    select,
    sqrt,
)
from . import polynomials
from .formats import format_of, horner, widely
from .table import REAL, emits

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["arctan2", "cos", "sin"]

# pi/2 as a sum of three floats
PARTS = {
    4: (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    8: (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33),
}
SIN = {4: polynomials.SIN_32, 8: polynomials.SIN_64}
COS = {4: polynomials.COS_32, 8: polynomials.COS_64}
TWO_OVER_PI = 2 / math.pi
NEAR = {4: 2.0**16, 8: 2.0**20}
FIRST = 16 - 52  # the exponent of the last bit of the lower one


def reduced(x: Value) -> tuple[Value, Value, Value]:
    """(q, r, low): x = n pi/2 + r + low, where the integer q and n are alike modulo 4."""
    magic = format_of(x).magic
    a, b, c = PARTS[x.dtype.itemsize]
    shifted = fma(x, TWO_OVER_PI, magic)
    n = shifted - magic
    exact, less = fma(n, -a, x), n * -b
    r = exact + less
    moved = r - exact
    lost = (exact - (r - moved)) + (less - moved)
    return bits(shifted), r, fma(n, -c, lost - fma(n, b, less))


def sum_of(x: Value, y: Value) -> tuple[Value, Value]:
    """The sum as a pair, whichever of the two is larger (D. Knuth)."""
    total = x + y
    moved = total - x
    return total, (x - (total - moved)) + (y - moved)


@cache
def rows() -> list[tuple[float, ...]]:
    """For each E from FIRST on, 2**E 2/pi modulo 4 as three floats; by columns."""
    one = 1 << 1300

    def arctangent(n: int) -> int:
        """arctan(1 / n), of `one`: Euler's series."""
        term = total = one * n // (n * n + 1)
        k = 2
        while term:
            term = term * k // (k + 1) * n * n // (n * n + 1) // (n * n)
            total += term
            k += 2
        return total

    pi = 16 * arctangent(5) - 4 * arctangent(239)  # J. Machin
    found = []
    for e in range(FIRST, 972):
        left = 2 * one * one // pi
        left = (left << e if e >= 0 else left >> -e) % (4 * one)
        parts = []
        for _ in range(3):
            part = left / one
            top, bottom = part.as_integer_ratio()
            left -= top * one // bottom
            parts.append(part)
        found.append(parts)
    return list(zip(*found, strict=True))


def far(x: Value) -> tuple[Value, Value, Value]:
    """`reduced` for float64 beyond `NEAR`: by the digits of 2/pi that count."""
    field = bits(abs(x)) >> 52
    index = select(field < FIRST + 1075, 0, select(field > 2046, 0, field - (FIRST + 1075)))
    a, b, c = (looked_up(index, f"two_over_pi_{i}", row) for i, row in enumerate(rows()))
    whole = convert((bits(x) & (1 << 52) - 1) | (1 << 52), np.float64)
    high = whole * a
    turn, lost = sum_of(high - 4.0 * rint(high * 0.25), fma(whole, a, -high))
    second = whole * b
    turn, again = sum_of(turn, second)
    n = rint(turn)
    rest, least = sum_of((lost + again) + fma(whole, b, -second), whole * c)
    part, left = sum_of(turn - n, rest)
    left = copysign(x.number(1.0), x) * (left + least)
    part, n = copysign(x.number(1.0), x) * part, copysign(x.number(1.0), x) * n
    p, q, _ = PARTS[8]
    r = part * p
    return bits(n + format_of(x).magic), r, fma(part, p, -r) + fma(part, q, left * p) + (x - x)


def sine(r: Value, low: Value) -> Value:
    """sin(r + low)."""
    z = r * r
    series = horner(z, SIN[r.dtype.itemsize]) * z
    return r + fma(r, series, fma(z * -0.5, low, low))


def cosine(r: Value, low: Value) -> Value:
    """cos(r + low)."""
    z = r * r
    half = z * 0.5
    high = 1.0 - half
    lost = (1.0 - high) - half
    return high + fma(horner(z, COS[r.dtype.itemsize]), z * z, fma(-r, low, lost))


def anywhere(function: Callable[..., Value]) -> Callable[[Value], Value]:
    """A function of what `reduced` gives, as one of any angle."""

    def of_angle(x: Value) -> Value:
        near, inside = function(*reduced(x)), abs(x) <= NEAR[x.dtype.itemsize]
        if assumed(inside):
            return near
        wide = convert(x, np.float64)
        return select(inside, near, convert(function(*far(wide)), x.dtype))

    of_angle.__name__, of_angle.__doc__ = function.__name__, function.__doc__
    return of_angle


@emits("sin", REAL)
def sin(x: Value) -> Value:
    """The sine; that of -0 is -0."""
    return select(x == 0, x, _sin(x))


@anywhere
def _sin(q: Value, r: Value, low: Value) -> Value:
    found = select((q & 1) == 1, cosine(r, low), sine(r, low))
    return select((q & 2) == 2, -found, found)


@emits("cos", REAL)
@anywhere
def cos(q: Value, r: Value, low: Value) -> Value:
    """The cosine."""
    found = select((q & 1) == 1, sine(r, low), cosine(r, low))
    return select(((q + 1) & 2) == 2, -found, found)


@emits("tan", REAL)
def tan(x: Value) -> Value:
    """The tangent; that of -0 is -0."""
    return select(x == 0, x, _tan(x))


@anywhere
def _tan(q: Value, r: Value, low: Value) -> Value:
    s, c = sine(r, low), cosine(r, low)
    odd = (q & 1) == 1
    return select(odd, -c, s) / select(odd, s, c)


def arcsine_rest(z: Value, s: Value) -> Value:
    """arcsin(s) - s, z = s^2 <= 1/4."""
    table = {4: polynomials.ASIN_32, 8: polynomials.ASIN_64}
    return horner(z, table[z.dtype.itemsize]) * z * s


def half_angle(size: Value) -> tuple[Value, Value, Value, Value]:
    """Whether size > 1/2; z, its root s, and what s lacks: of the half angle's sine where it is."""
    far = size > 0.5
    z = select(far, fma(size, -0.5, 0.5), size * size)
    s = select(far, sqrt(z), size)
    low = select(far & (z > 0), fma(-s, s, z) / (s + s), 0.0)
    return far, z, s, low


@emits("arcsin", REAL)
def arcsin(x: Value) -> Value:
    """Beyond 1/2, a right angle less twice the arcsine of sqrt((1 - x) / 2)."""
    a, b, _ = PARTS[x.dtype.itemsize]
    far, z, s, low = half_angle(abs(x))
    rest = arcsine_rest(z, s)
    near = s + rest
    beyond = fma(s, -2.0, a)
    lost = fma(s, -2.0, a - beyond) + fma(rest + low, -2.0, b)
    return copysign(select(far, beyond + lost, near), x)


@emits("arccos", REAL)
def arccos(x: Value) -> Value:
    """Twice the arcsine of sqrt((1 - x) / 2), or a right angle less the arcsine."""
    a, b, _ = PARTS[x.dtype.itemsize]
    far, z, s, low = half_angle(abs(x))
    rest = arcsine_rest(z, s)
    signed = copysign(s, x)
    high = a - signed
    middle = high + (((a - high) - signed) + (b - copysign(rest, x)))
    double = 2.0 * (s + (rest + low))
    straight = fma(s, -2.0, 2.0 * a)
    left = straight + (fma(s, -2.0, 2.0 * a - straight) + fma(rest + low, -2.0, 2.0 * b))
    return select(far, select(x > 0, double, left), middle)


def arctangent(y: Value, x: Value) -> Value:
    """The angle of (x, y), both at least 0, not both infinite or 0."""
    a, b, _ = PARTS[x.dtype.itemsize]
    table = {4: polynomials.ATAN_32, 8: polynomials.ATAN_64}
    steep = y > x * (1 + math.sqrt(2))
    middle = (y > x * (math.sqrt(2) - 1)) & ~steep
    top = select(steep, -x, select(middle, y - x, y))
    below = select(steep, y, select(middle, y + x, x))
    t = top / below
    high = select(steep, a, select(middle, a / 2, y.number(0.0)))
    low = select(steep, b, select(middle, b / 2, y.number(0.0)))
    z = t * t
    rest = horner(z, table[z.dtype.itemsize]) * z
    total = high + t
    lost = (high - total) + t
    return total + fma(rest, t, lost + low)


@emits("arctan", REAL)
def arctan(x: Value) -> Value:
    """The angle of (1, |x|), with the sign of x."""
    return copysign(arctangent(abs(x), x.number(1.0)), x)


@emits("arctan2", REAL)
@widely
def arctan2(y: Value, x: Value) -> Value:
    """The angle of (x, y), from -pi to pi; scaled where the sum of both might overflow."""
    a, b, _ = PARTS[8]
    up, right = abs(y), abs(x)
    infinite = (up == math.inf) & (right == math.inf)
    none = (up == 0) & (right == 0)
    scale = select((up > 2.0**1000) | (right > 2.0**1000), x.number(2.0**-60), 1.0)
    up = select(infinite, 1.0, up * scale)
    right = select(infinite | none, 1.0, right * scale)
    angle = arctangent(up, right)
    left = bits(x) < 0
    angle = select(left, (2.0 * a - angle) + 2.0 * b, angle)
    return copysign(angle, y)
