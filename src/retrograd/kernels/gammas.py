"""The logarithm of the gamma function of complex128 arrays, digamma, and its derivatives.

NOTE [Complex gammas]
1. `lgamma`, and `polygamma` of the orders 0 and 1, are within 4 units in the last place of their
   modulus. But near zeros of theirs polygammas are as exact as if they were as large as 1/2 there;
   only digamma's zero right of 0 is one of a series.
2. The upper half plane is computed, with the side of a cut that the sign of a zero says. The lower
   one is its mirror image.
3. From |z| = `FAR` on, the asymptotic series holds left of 0 too, less log(1 - u), u = exp(2 pi i
   z), or less its derivatives.
4. What is nearer goes along the real axis by log gamma(z + 1) = log gamma(z) + log z. Log gamma
   and digamma cancel there: within `STRIP` of the axis their Taylor series about 3 is taken, and
   about their zeros what vanishes there. Beyond, what cancels is added up before it meets z.

Source: NIST's Digital Library of Mathematical Functions, sections 5.5, 5.7, 5.11, 5.15 and 25.11.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .allocation import known_true
from .complexes import log1p

if TYPE_CHECKING:
    from collections.abc import Callable

FAR, STRIP = 6.0, 1.75
EULER = 0.5772156649015329
ROOT, ROOT_LOW = 1.4616321449683622, 9.549995429965697e-17  # digamma's zero
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
# Bernoulli numbers B2, B4, ... over which the asymptotic series run.
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798,
             -174611 / 330, 854513 / 138, -236364091 / 2730, 8553103 / 6, -23749461029 / 870,
             8615841276005 / 14322, -7709321041217 / 510, 2577687858367 / 6,
             -26315271553053477373 / 1919190)  # fmt: skip


def mirrored(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the upper half plane, of the lower one too: rule 2."""

    def whole(z: Any, *more: Any) -> Any:
        below = np.signbit(z.imag)
        with np.errstate(all="ignore"):
            found = function(np.where(below, np.conj(z), z), *more)
        return np.where(below, np.conj(found), found)

    return whole


@mirrored
def lgamma(z: Any) -> Any:
    """The logarithm of gamma(z), whose cut is the negative real axis; inf at 0, -1, -2, ..."""
    far = np.abs(z) >= FAR
    flat = ~far & (z.imag <= STRIP)
    high = ~far & ~flat
    out = z.copy()
    out[far], out[flat] = _lgamma_far(z[far]), _lgamma_flat(z[flat])
    out[high] = _lgamma_high(z[high])
    return out


def _lgamma_far(z: Any) -> Any:
    found = (z - 0.5) * (np.log(z) - 1.0) + (HALF_LOG_2PI - 0.5) + tail(z, -1)
    found = found - np.where(z.real < 0, np.log(-np.expm1(turns(z))), 0.0)
    return np.where(z.real == np.inf, z, found)


def _lgamma_flat(z: Any) -> Any:
    near = (np.abs(z.real - 1.5) <= 1.0) & (z.imag <= 0.5)  # the zeros 1 and 2
    first = near & (z.real < 1.5)
    steps = np.where(near, 0.0, np.rint(3.0 - z.real))
    w = z - np.where(first, 1.0, 2.0)
    about_2 = w * ((1.0 - EULER) + w * series(w, taylor(2.0, 44, 1)))
    about_2 = about_2 - np.where(first, log1p(w), 0.0)
    w = z - (3.0 - steps)
    about_3 = math.log(2.0) + w * ((1.5 - EULER) + w * series(w, taylor(3.0, 78, 1)))
    about_3 = about_3 - log_rising(z, steps) + log_rising(z + np.minimum(steps, 0.0), -steps)
    return np.where(near, about_2, about_3)


def _lgamma_high(z: Any) -> Any:
    steps = steps_to(z, FAR)
    x = z + steps
    log = np.log(x)
    rest = steps * log - log_rising(z, steps) - steps + HALF_LOG_2PI
    return (z - 0.5) * log - z + tail(x, -1) + rest


@mirrored
def polygamma(z: Any, order: int) -> Any:
    """The `order`-th derivative of digamma, which is order 0; not finite at 0, -1, -2, ..."""
    reach = FAR if order == 0 else FAR + 4 + order
    far = np.abs(z) >= reach
    flat = ~far & (z.imag <= STRIP) & (order == 0)
    high = ~far & ~flat
    out = z.copy()
    out[far], out[flat] = _polygamma_far(z[far], order), _digamma_flat(z[flat])
    out[high] = _polygamma_high(z[high], order, reach)
    return out


def _polygamma_high(z: Any, order: int, reach: float) -> Any:
    steps = steps_to(z, reach)
    terms = (-1.0) ** (order + 1) * math.factorial(order)
    return _asymptotic(z + steps, order) + terms * sum_of_powers(z, steps, order + 1, 2 * reach)


def _polygamma_far(z: Any, order: int) -> Any:
    turn = turns(z)
    u, gap = np.exp(turn), -np.expm1(turn)
    beyond = (2j * math.pi) ** (order + 1) * u * series(u, eulerian(order)) / gap ** (order + 1)
    return _asymptotic(z, order) + np.where(z.real < 0, beyond, 0.0)


def _asymptotic(z: Any, order: int) -> Any:
    inverse = 1.0 / z
    lead = -np.log(z) if order == 0 else math.factorial(order - 1) * inverse**order
    half = 0.5 * math.factorial(order) * inverse ** (order + 1)
    return (-1.0) ** (order + 1) * (lead + half + tail(z, order))


def _digamma_flat(z: Any) -> Any:
    near = np.abs(z - ROOT) <= 0.7
    w = (z - ROOT) - ROOT_LOW
    about_root = w * series(w, taylor(ROOT, 52))
    steps = np.where(near, 0.0, np.rint(3.0 - z.real))
    w = z - (3.0 - steps)
    about_3 = (1.5 - EULER) + w * series(w, taylor(3.0, 78))
    before = sum_of_powers(z + np.minimum(steps, 0.0), -steps, 1, FAR)
    return np.where(near, about_root, about_3 - sum_of_powers(z, steps, 1, 2 * FAR) + before)


# -- what they are made of -----------------------------------------------------------------------


def steps_to(z: Any, reach: float) -> Any:
    """How far to the right |z| is `reach`, on the right of 0."""
    return np.maximum(np.ceil(np.sqrt(np.maximum(reach * reach - z.imag**2, 0.0)) - z.real), 0.0)


def log_rising(z: Any, steps: Any) -> Any:
    """log z + log(z + 1) + ..., `steps` of them, at most 2 `FAR`, for Im z >= 0.

    As the logarithm of the product, whose angle is above pi again where it has come below 0.
    """
    product, below, rounds = np.ones_like(z), np.zeros_like(z.real), np.zeros_like(z.real)
    for k in range(int(2 * FAR) + 1):
        taken = k < steps
        if known_true(~taken.any()):
            break
        product = np.where(taken, product * (z + k), product)
        before, below = below, np.signbit(product.imag)
        rounds = rounds + (taken & (below > before))
    return np.log(product) + 2j * math.pi * rounds


def sum_of_powers(z: Any, steps: Any, power: int, most: float) -> Any:
    """1 / z^power + 1 / (z + 1)^power + ..., `steps` of them, which are `most` at most."""
    total = np.zeros_like(z)
    for k in range(int(most) + 1):
        taken = k < steps
        if known_true(~taken.any()):
            break
        total = total + np.where(taken, 1.0 / np.where(taken, z + k, 1.0) ** power, 0.0)
    return total


def turns(z: Any) -> Any:
    """2 pi i z less whole turns, which exponentials do not see."""
    return 2.0 * math.pi * (1j * (z.real - np.rint(z.real)) - z.imag)


def tail(z: Any, order: int) -> Any:
    """The asymptotic series of polygamma, log gamma's for order -1, behind its first terms."""
    inverse = 1.0 / z
    square, total = inverse * inverse, np.zeros_like(z)
    for k in range(len(BERNOULLI), 0, -1):
        weight = math.factorial(2 * k + order - 1) / math.factorial(2 * k)
        total = total * square + BERNOULLI[k - 1] * weight
    return total * square * inverse**order if order >= 0 else total * inverse


def series(z: Any, coefficients: tuple[float, ...]) -> Any:
    """The polynomial with these coefficients, lowest power first."""
    total = np.zeros_like(z)
    for coefficient in reversed(coefficients):
        total = total * z + coefficient
    return total


@cache
def taylor(centre: float, end: int, log: int = 0) -> tuple[float, ...]:
    """Taylor's coefficients of digamma from the first power on, of log gamma from the second."""
    return tuple((-1) ** k * zeta(k, centre) / k**log for k in range(2, end))


def zeta(s: int, a: float) -> float:
    """Hurwitz' zeta function: the sum of 1 / (a + j)^s, by Euler's and Maclaurin's formula."""
    x = a + 12
    terms = [(a + j) ** -s for j in range(12)] + [x ** (1 - s) / (s - 1), x**-s / 2]
    factor = s * x ** (-s - 1) / 2
    for j, number in enumerate(BERNOULLI[:10], 1):
        terms.append(number * factor)
        factor *= (s + 2 * j - 1) * (s + 2 * j) / ((2 * j + 1) * (2 * j + 2) * x * x)
    return math.fsum(terms)


@cache
def eulerian(order: int) -> tuple[float, ...]:
    """The polynomial p with (u d/du)^order of u / (1 - u) = u p(u) / (1 - u)^(order + 1)."""
    row = [1.0]
    for n in range(2, order + 1):
        padded = [0.0, *row, 0.0]
        row = [(k + 1) * padded[k + 1] + (n - k) * padded[k] for k in range(n)]
    return tuple(row)
