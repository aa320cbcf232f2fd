"""How a sample moves with the parameters of its distribution, at the same quantile; array kernels.

Nothing here knows of tensors. Where F is a distribution's share below x and f its density, the
quantile moves by -(dF/da) / f as the parameter a changes. Kernels compute in double precision and
give back the dtype of the sample.

NOTE [Implicit derivatives]
The derivative of the share is the integral of (d log f/da) f up to x, and minus that from x on.
(1) The side is chosen where d log f/da does not change its sign: nothing cancels.
(2) Measured in log(t / x), or in the logarithm of what is left of 1, the integrand is a smooth
    factor times exp(E) for a concave E of derivative <= 0: beyond some `reach`, where E < -DEPTH,
    it does not count, and the Gauss-Legendre rule on what is before is exact to some 13 digits.
(3) Where a parameter is so small that the integrand has a long flat part, x^a times a power series
    of few terms is the share; its terms have one sign.
Source: M. Figurnov, S. Mohamed, A. Mnih, "Implicit reparameterization gradients", NeurIPS 2018.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .allocation import full, table
from .bessel import bessel_ie
from .special import polygamma

if TYPE_CHECKING:
    from collections.abc import Callable

DEPTH = 40.0  # exp(-40) of the largest value does not count
NODES = 56
TERMS = 90  # of a power series
SMALL = 8.0  # parameters up to here have a series
BLOCK = 2048  # elements: times NODES, what the kernels work on at once


@cache
def _rule() -> tuple[Any, Any]:
    """Nodes and weights of the Gauss-Legendre rule on [0, 1], as columns."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return (nodes[:, None] + 1) / 2, weights[:, None] / 2


def _integral(function: Callable[[Any], Any], reach: Any) -> Any:
    """The integral of a function from 0 to `reach`, elementwise."""
    nodes, weights = (table(reach, each) for each in _rule())
    return (weights * function(nodes * reach)).sum(0) * reach


def _by_case(
    cases: list[tuple[Any, Callable[..., Any]]], dtype: np.dtype[Any], *arrays: Any
) -> Any:
    """For each element the kernel of the first case that holds for it, on flat blocks; else NaN."""
    out = full(arrays[0], arrays[0].shape, np.nan)
    left = full(out, out.shape, True, np.bool_)
    for holds, kernel in cases:
        where = np.flatnonzero(left & holds)
        for start in range(0, where.size, BLOCK):
            part = where[start : start + BLOCK]
            out[part] = kernel(*(array[part] for array in arrays))
        left[where] = False
    return out.astype(dtype)


def _flat(*arrays: Any) -> tuple[Any, ...]:
    """The arrays, broadcast, flat and of double precision; and their shape."""
    wide = np.broadcast_arrays(*(array.astype(np.float64) for array in arrays))
    return *(array.ravel() for array in wide), wide[0].shape


# -- the gamma distribution ------------------------------------------------------------------------


def gamma_derivative(concentration: Any, value: Any) -> Any:
    """dx/da for a sample x >= 0 of the standard gamma distribution of concentration a > 0."""
    a, x, shape = _flat(concentration, value)
    cases = [(x <= 1, _gamma_series), (x < a, _gamma_below), (x >= a, _gamma_above)]
    return _by_case(cases, value.dtype, a, x).reshape(shape)


def _gamma_series(a: Any, x: Any) -> Any:
    """F = x^a exp(-x) / gamma(a + 1) times the sum of x^k / ((a + 1) ... (a + k))."""
    term, total, derivative, harmonic = np.ones_like(x), np.ones_like(x), 0.0, 0.0
    for k in range(1, 20):
        term = term * x / (a + k)
        harmonic = harmonic + 1 / (a + k)
        total, derivative = total + term, derivative + term * harmonic
    logarithm = np.log(np.maximum(x, np.finfo(float).tiny))
    return x / a * (total * (polygamma(0, a + 1) - logarithm) + derivative)


def _gamma_below(a: Any, x: Any) -> Any:
    centre, half = polygamma(0, a) - np.log(x), DEPTH / 2 - (a - x)
    reach = (half + np.sqrt(half * half + 2 * DEPTH * a)) / a
    return x * _integral(lambda u: (centre + u) * np.exp(-x * np.expm1(-u) - a * u), reach)


def _gamma_above(a: Any, x: Any) -> Any:
    centre = np.log(x) - polygamma(0, a)
    reach = 2 * DEPTH / (x - a + np.sqrt((x - a) ** 2 + 2 * DEPTH * x))
    return x * _integral(lambda u: (centre + u) * np.exp(a * u - x * np.expm1(u)), reach)


# -- the beta distribution -------------------------------------------------------------------------


def beta_derivative(concentration1: Any, concentration0: Any, value: Any) -> Any:
    """dx/da for a sample 0 <= x <= 1 of the beta distribution of concentrations a, b > 0."""
    a, b, x, shape = _flat(concentration1, concentration0, value)
    x = np.clip(x, np.finfo(float).tiny, 1 - np.finfo(value.dtype).epsneg)
    cases = [
        ((a <= SMALL) & (x <= 0.5) & (x * (a + b) <= a + 1), _beta_left),
        ((b <= SMALL) & (x >= 0.5) & ((1 - x) * (a + b) <= b + 1), _beta_right),
        (x * (a + b) < a, _beta_below),
        (x * (a + b) >= a, _beta_above),
    ]
    return _by_case(cases, value.dtype, a, b, x).reshape(shape)


def _beta_left(a: Any, b: Any, x: Any) -> Any:
    """F = x^a (1 - x)^b / (a B(a, b)) times the sum of x^k (a + b)_k / (a + 1)_k."""
    term, total, derivative, harmonic = np.ones_like(x), np.ones_like(x), 0.0, 0.0
    for k in range(TERMS):
        term = term * x * ((a + b + k) / (a + 1 + k))
        harmonic = harmonic + (1 - b) / ((a + b + k) * (a + 1 + k))
        total, derivative = total + term, derivative + term * harmonic
    centre = polygamma(0, a + 1) - polygamma(0, a + b) - np.log(x)
    return x * (1 - x) / a * (total * centre - derivative)


def _beta_right(a: Any, b: Any, x: Any) -> Any:
    """The series of `_beta_left` for the share above x, by its second concentration."""
    y = 1 - x
    term, total, derivative, harmonic = np.ones_like(x), np.ones_like(x), 0.0, 0.0
    for k in range(TERMS):
        term = term * y * ((a + b + k) / (b + 1 + k))
        harmonic = harmonic + 1 / (a + b + k)
        total, derivative = total + term, derivative + term * harmonic
    centre = np.log(x) + polygamma(0, a + b) - polygamma(0, a)
    return x * y / b * (total * centre + derivative)


def _beta_exponent(a: Any, b: Any, x: Any) -> tuple[Callable[[Any], Any], Any]:
    """log of t f(t) / (x f(x)) at t = x exp(-u), and the u where it is -DEPTH, by Newton."""
    ratio = x / (1 - x)

    def exponent(u: Any) -> Any:
        return (b - 1) * np.log1p(-ratio * np.expm1(-u)) - a * u

    reach = np.zeros_like(x)
    for _ in range(40):
        fallen = ratio * np.exp(-reach)
        derivative = (b - 1) * fallen / (1 + ratio - fallen) - a
        reach = reach - (exponent(reach) + DEPTH) / derivative
    return exponent, reach


def _beta_below(a: Any, b: Any, x: Any) -> Any:
    exponent, reach = _beta_exponent(a, b, x)
    centre = polygamma(0, a) - polygamma(0, a + b) - np.log(x)
    return x * _integral(lambda u: (centre + u) * np.exp(exponent(u)), reach)


def _beta_above(a: Any, b: Any, x: Any) -> Any:
    exponent, reach = _beta_exponent(b, a, 1 - x)
    centre = polygamma(0, a + b) - polygamma(0, a)

    def integrand(u: Any) -> Any:
        return (centre + np.log1p((x - 1) * np.exp(-u))) * np.exp(exponent(u))

    return (1 - x) * _integral(integrand, reach)


# -- the von Mises distribution --------------------------------------------------------------------


def von_mises_derivative(concentration: Any, value: Any) -> Any:
    """dx/dk for a sample -pi <= x <= pi of the von Mises distribution of concentration k > 0."""
    k, x, shape = _flat(concentration, value)
    mean = bessel_ie(1, k) / bessel_ie(0, k)
    size = np.abs(x)
    cases = [(np.cos(size) >= mean, _mises_inside), (np.cos(size) < mean, _mises_outside)]
    derivative = _by_case(cases, np.dtype(np.float64), k, size, mean)
    return (np.copysign(derivative, -x)).astype(value.dtype).reshape(shape)


def _mises_inside(k: Any, x: Any, mean: Any) -> Any:
    def integrand(t: Any) -> Any:
        return (np.cos(t) - mean) * np.exp(k * (np.cos(t) - np.cos(x)))

    return _integral(integrand, x)


def _mises_outside(k: Any, x: Any, mean: Any) -> Any:
    reach = np.arccos(np.maximum(np.cos(x) - DEPTH / k, -1)) - x

    def integrand(u: Any) -> Any:
        drop = -2 * np.sin(x + u / 2) * np.sin(u / 2)  # cos(x + u) - cos(x)
        return (mean - np.cos(x) - drop) * np.exp(k * drop)

    return _integral(integrand, reach)
