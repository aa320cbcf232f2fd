"""The logarithm of the gamma function, and its derivative; computed in float64."""

from __future__ import annotations

import math

from ..values import Value, copysign, floor, fma, isnan, rint, select
from . import polynomials
from .formats import horner, widely
from .logarithm import log
from .table import REAL, emits
from .trigonometry import cosine, sine

__all__: list[str] = []

# Stirling's series: B(2k) / (2k (2k - 1))
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)  # B(2k) / (2k)
ROOT = (1.4616321449683622, 9.549995429965697e-17)  # of digamma, a pair
HALF_LOG_2PI, LOG_PI = 0.5 * math.log(2 * math.pi), math.log(math.pi)
FAR, STEPS = 8.0, 6  # from where Stirling's series does, and the steps of 1 from 5/2 up to there


def sine_of_turns(x: Value) -> Value:
    """|sin(pi x)|."""
    left = abs(x - rint(x))
    near = select(left > 0.25, 0.5 - left, left)  # to the nearest quarter of a turn
    r = near * math.pi
    low = fma(near, math.pi, -r)
    return select(left > 0.25, cosine(r, low), sine(r, low))


@emits("gammaln", REAL)
@widely
def gammaln(x: Value) -> Value:
    """log |gamma(x)|: near 2 a polynomial, from 8 on Stirling's series, led there by steps.

    To the left of 0, by reflection: log(pi / |x sin(pi x)|) - gammaln(-x).
    """
    size = abs(x)
    y, up, down = select(size < FAR, size, 2.0), size.number(1.0), size.number(1.0)
    for _ in range(STEPS):
        more = y > 2.5
        y = select(more, y - 1.0, y)
        up = select(more, up * y, up)
    for _ in range(2):
        less = y < 1.5
        down = select(less, down * y, down)
        y = select(less, y + 1.0, y)
    t = select(size < 0.5, size, select(size < 1.5, size - 1.0, y - 2.0))
    far = size >= FAR
    stepped = select(up > 1.0, up, down)
    logarithm = log(select(far, size, stepped))
    near = fma(horner(t, polynomials.LGAMMA_64), t, select(up > 1.0, logarithm, -logarithm))
    inverse = 1.0 / select(far, size, FAR)
    series = horner(inverse * inverse, STIRLING) * inverse
    beyond = fma(size - 0.5, logarithm - 1.0, series) + (HALF_LOG_2PI - 0.5)
    right = select(far, beyond, near)
    left = (LOG_PI - log(size * sine_of_turns(size))) - right
    pole = (x <= 0) & (floor(x) == x)
    found = select(x < -1e-100, left, right)  # next to 0 it is -log |x| on both sides
    found = select(pole | (size == math.inf), math.inf, found)
    return select(isnan(x), x, found)


@emits("psi", REAL)
@widely
def psi(x: Value) -> Value:
    """Near its root a polynomial; else, led there by steps, Stirling's series from 10 on.

    To the left of 0, by reflection: psi(1 - x) - pi / tan(pi x).
    """
    y = select(x < 0, 1.0 - x, x)
    past = (y - ROOT[0]) - ROOT[1]
    near = horner(past, polynomials.DIGAMMA_64) * past
    top, below = y.number(0.0), y.number(1.0)
    far = select(y < 10.0, y, 10.0)
    for _ in range(10):  # top / below is the sum of 1 / y, 1 / (y + 1), ...
        less = far < 10.0
        top = select(less, fma(top, far, below), top)
        below = select(less, below * far, below)
        far = select(less, far + 1.0, far)
    far = select(y < 10.0, far, y)
    inverse = 1.0 / far
    square = inverse * inverse
    series = fma(horner(square, DIGAMMA), square, 0.5 * inverse)
    right = select(abs(past) < 0.4, near, (log(far) - series) - top / below)
    turn = x - rint(x)
    sines, cosines = sine_of_turns(x), sine_of_turns(abs(turn) + 0.5)
    cotangent = copysign(cosines / sines, turn)
    left = select(turn == 0, x.number(math.nan), right - math.pi * cotangent)
    found = select(x < 0, left, right)
    return select(x == 0, copysign(x.number(math.inf), -x), found)
