"""Special functions that NumPy lacks, as array kernels: erf and its relatives, and the gammas.

SciPy's ufuncs where SciPy is installed, one loop each; else what follows here, many. But real erf
and erfc need no SciPy: of few numbers they are the C library's. Nothing here knows of tensors. Real
kernels compute in double precision and give back the dtype they were given. Relative errors without
SciPy, measured against it: below 1e-15 for real erf and erfc where the result is a normal number
(erfc beyond 4: 2e-15), 2e-15 for erfinv, 1e-13 in norm for complex erf, 1e-14 for polygamma away
from its zeros; lgamma is the C library's.

Sources: W. J. Cody, "Rational Chebyshev approximations for the error function", Math. Comp. 23
(1969), with the coefficients of its published program; M. Giles, "Approximating the erfinv
function", GPU Computing Gems (2011), for the first guess that Halley's method improves;
J. A. C. Weideman, "Computation of the complex error function", SIAM J. Numer. Anal. 31 (1994).
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from . import gammas
from .allocation import empty, has_special, is_numpy, is_traced
from .gammas import BERNOULLI
from .layout import as_it_lies
from .library import by_scipy
from .native.small import quick

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCK = 8192  # elements: what the kernels work on at once, so that intermediate results stay cached

# Cody's rational approximations, highest power first. Below 0.46875, erf(x) = x R(x^2);
CENTRE = (
    (1.85777706184603153e-1, 3.16112374387056560, 1.13864154151050156e2,
     3.77485237685302021e2, 3.20937758913846947e3),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2,
     1.28261652607737228e3, 2.84423683343917062e3),
)  # fmt: skip
# from there to 4, erfc(x) = exp(-x^2) R(x);
MIDDLE = (
    (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 6.61191906371416295e1,
     2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
     1.23033935479799725e3),
    (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2,
     1.62138957456669019e3, 3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3,
     1.23033935480374942e3),
)  # fmt: skip
# beyond, erfc(x) = exp(-x^2) / x (1 / sqrt(pi) - R(1 / x^2) / x^2).
TAIL = (
    (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
     1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4),
    (1.0, 2.56852019228982242, 1.87295284992346725, 5.27905102951428412e-1,
     6.05183413124413191e-2, 2.33520497626869185e-3),
)  # fmt: skip

# Giles' erfinv(x) = x P(w), w = -log(1 - x^2): in w - 2.5 below w = 5, in sqrt(w) - 3 above.
GUESS_CENTRE = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
    -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
GUESS_TAIL = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
    -0.0076224613, 0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip

WEIDEMAN_TERMS = 40

TINY = 1e-300  # below it, lgamma is -log to the last bit


def blockwise(kernel: Callable[[Any], Any], x: Any) -> Any:
    """Apply a kernel of flat double precision arrays to an array of any floating dtype and size."""
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    if not is_numpy(x):
        x, dtype = x.astype(wide), x.dtype
        found = x.recording.call(kernel, (x,), {}) if is_traced(x) else kernel(x)
        return found.astype(dtype)
    if not x.flags.c_contiguous:
        return as_it_lies(partial(blockwise, kernel), x)
    flat = x.reshape(-1)
    out = empty(flat, flat.shape)
    for start in range(0, flat.size, BLOCK):
        part = flat[start : start + BLOCK].astype(wide)
        out[start : start + BLOCK] = kernel(part)
    return out.reshape(x.shape)


def one_by_one(function: Callable[[float], float], x: Any) -> Any:
    """Apply a function of the C library to every element of a real array of NumPy's."""
    if not x.flags.c_contiguous:
        return as_it_lies(partial(one_by_one, function), x)
    values = map(function, x.ravel().tolist())
    return np.fromiter(values, np.float64, x.size).astype(x.dtype).reshape(x.shape)


def polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    """The polynomial with these coefficients, highest power first, by Horner's rule."""
    total = x * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        total *= x
        total += coefficient
    return total


def ratio(pair: tuple[tuple[float, ...], tuple[float, ...]], x: Any) -> Any:
    """The quotient of two polynomials at x."""
    return polynomial(pair[0], x) / polynomial(pair[1], x)


def _gauss(x: Any) -> Any:
    """exp(-x^2) without the rounding of x^2, which the exponential would enlarge (Cody)."""
    near = np.trunc(x * 16) / 16
    return np.exp(-near * near) * np.exp(-(x - near) * (x + near))


def _erfc_tail(x: Any) -> Any:
    """erfc of x > 0.46875, of flat arrays."""
    out = np.empty_like(x)
    near = x <= 4.0
    y = x[near]
    out[near] = _gauss(y) * ratio(MIDDLE, y)
    y = np.minimum(x[~near], 1e100)
    inverse = 1.0 / (y * y)
    out[~near] = _gauss(np.minimum(y, 30.0)) / y * (
        1 / math.sqrt(math.pi) - inverse * ratio(TAIL, inverse)
    )  # fmt: skip
    return out


def _erf_block(x: Any) -> Any:
    size = np.abs(x)
    small = size <= 0.46875
    out = np.empty_like(x)
    y = x[small]
    out[small] = y * ratio(CENTRE, y * y)
    out[~small] = np.copysign(1.0 - _erfc_tail(size[~small]), x[~small])
    return out


def _erfc_block(x: Any) -> Any:
    size = np.abs(x)
    small = size <= 0.46875
    out = np.empty_like(x)
    y = x[small]
    out[small] = 1.0 - y * ratio(CENTRE, y * y)
    tail = _erfc_tail(size[~small])
    out[~small] = np.where(x[~small] < 0, 2.0 - tail, tail)
    return out


@quick("erf")
def erf(x: Any) -> Any:
    """The error function of a real or complex array."""
    if has_special(x) or x.dtype.kind == "c":
        return by_scipy("erf", lambda z: _erf_complex(z.astype(np.complex128)).astype(z.dtype), x)
    return blockwise(_erf_block, x)


@quick("erfc")
def erfc(x: Any) -> Any:
    """1 - erf(x), without cancellation for real x far to the right."""
    if has_special(x) or x.dtype.kind == "c":
        return by_scipy("erfc", lambda z: _erfc_complex(z.astype(np.complex128)).astype(z.dtype), x)
    return blockwise(_erfc_block, x)


def _erfinv_guess(s: Any) -> Any:
    """erfinv of 0 <= s < 1 to some three digits at least: Giles, then erfc's leading term."""
    w = -np.log((1.0 - s) * (1.0 + s))
    centre = s * polynomial(GUESS_CENTRE, np.minimum(w, 5) - 2.5)
    tail = s * polynomial(GUESS_TAIL, np.sqrt(np.clip(w, 5, 16)) - 3)
    decay = -np.log(math.sqrt(math.pi) * (1.0 - s))
    far = np.sqrt(np.maximum(decay, 12.0))
    for _ in range(2):  # 1 - s = exp(-x^2) / (sqrt(pi) x)
        far = np.sqrt(np.maximum(decay, 12.0) - np.log(far))
    return np.where(w < 5, centre, np.where(w < 16, tail, far))


def _erfinv_block(y: Any) -> Any:
    size = np.abs(y)
    inside = size < 1
    s = size[inside]
    x = _erfinv_guess(s)
    for _ in range(2):  # Halley; erfc on the right, where erf would round to 1
        error = np.where(s < 0.5, _erf_block(x) - s, (1.0 - s) - _erfc_block(x))
        step = error * (math.sqrt(math.pi) / 2) * np.exp(x * x)
        x = x - step / (1.0 + x * step)
    out = np.where(size == 1, np.inf, np.nan)
    out[inside] = x
    return np.copysign(out, y)


def _erfinv(y: Any) -> Any:
    return blockwise(_erfinv_block, y)


def erfinv(y: Any) -> Any:
    """The inverse of erf on [-1, 1]; infinite at the ends, NaN outside."""
    return np.copysign(by_scipy("erfinv", _erfinv, y, "d"), y)  # SciPy's drops the sign of -0


@cache
def _weideman() -> tuple[float, Any]:
    """The scale and the coefficients (highest power first) of Weideman's rational series."""
    n = WEIDEMAN_TERMS
    scale = math.sqrt(n / math.sqrt(2))
    angles = np.arange(-2 * n + 1, 2 * n) * math.pi / (2 * n)
    t = scale * np.tan(angles / 2)
    samples = np.concatenate([[0.0], np.exp(-t * t) * (scale * scale + t * t)])
    series = np.fft.fft(np.fft.fftshift(samples)).real / (4 * n)
    return scale, series[1 : n + 1][::-1].copy()


def _faddeeva(z: Any) -> Any:
    """w(z) = exp(-z^2) erfc(-iz) in the upper half-plane."""
    scale, coefficients = _weideman()
    below = scale - 1j * z
    mapped = (scale + 1j * z) / below
    total = np.full_like(z, coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * mapped + coefficient
    return 2 * total / (below * below) + 1 / (math.sqrt(math.pi) * below)


def _erf_series(z: Any) -> Any:
    """erf near 0, by Kummer's form of its Taylor series: no cancellation along the real axis."""
    square = 2 * z * z
    term = total = z
    for n in range(1, 40):
        term = term * square / (2 * n + 1)
        total = total + term
    return 2 / math.sqrt(math.pi) * np.exp(-z * z) * total


def _erf_complex(z: Any) -> Any:
    sign = np.where(z.real < 0, -1.0, 1.0)
    right = z * sign
    small = np.abs(z) < 1
    series = _erf_series(np.where(small, right, 0))
    far = np.where(small, 1, right)
    return sign * np.where(small, series, 1 - np.exp(-far * far) * _faddeeva(1j * far))


def _erfc_complex(z: Any) -> Any:
    right = np.where(z.real < 0, 1, z)
    tail = np.exp(-right * right) * _faddeeva(1j * right)
    return np.where((z.real < 0) | (np.abs(z) < 1), 1 - _erf_complex(z), tail)


def _lgamma(x: float) -> float:
    if x > 1e305 or (x <= 0 and x % 1.0 == 0):  # where the C library signals an error
        return math.inf
    return math.lgamma(x)


def lgamma(x: Any) -> Any:
    """The logarithm of |gamma(x)| for a real array, of gamma(x) for a complex one.

    Infinite at 0, -1, -2, ...; the complex one has its branch cut on the negative real axis.
    """
    if x.dtype.kind == "c":
        return blockwise(gammas.lgamma, x)
    found = by_scipy("gammaln", lambda x: one_by_one(_lgamma, x), x)
    size = np.abs(x)  # where SciPy's is wrong: it is infinite next to 0, and -inf at -inf
    return np.where((size < TINY) | (size == np.inf), np.abs(np.log(size)), found)


def polygamma(order: int, x: Any) -> Any:
    """The `order`-th derivative of digamma, which is order 0, for a real or complex array.

    At the poles 0, -1, -2, ... the real one is infinite where both sides agree, and at 0; else NaN.
    """
    if x.dtype.kind == "c":
        return blockwise(lambda z: gammas.polygamma(z, order), x)
    if order == 0 and has_special(x):
        return x.special("psi")
    return blockwise(partial(_polygamma_block, order), x)


def _polygamma_block(order: int, x: Any) -> Any:
    """Reflection: psi^(n)(x) = (-1)^n psi^(n)(1 - x) - pi (d/dx)^n cot(pi x)."""
    reflected = x < 0
    right = _polygamma_right(order, np.where(reflected, 1.0 - x, x))
    turn = x - np.round(x)
    pole = turn == 0
    cotangent = 1.0 / np.tan(math.pi * np.where(pole, 0.25, turn))
    derivative = math.pi ** (order + 1) * polynomial(_cotangent_derivative(order), cotangent)
    left = (-1.0) ** order * right - derivative
    left = np.where(pole, np.inf if order % 2 else np.nan, left)
    return np.where(reflected, left, right)


def _cotangent_derivative(order: int) -> Any:
    """The polynomial p with (d/dx)^order cot x = p(cot x), highest power first."""
    p = np.array([1.0, 0.0])
    for _ in range(order):
        p = -np.polymul([1.0, 0.0, 1.0], np.polyder(p))
    return tuple(p.tolist())


def _polygamma_right(order: int, x: Any) -> Any:
    if order:
        return _polygamma_series(order, x)
    return by_scipy("psi", partial(_polygamma_series, 0), x)  # slow to the left of 0, by hundreds


def _polygamma_series(n: int, x: Any) -> Any:
    """psi^(n)(x) = psi^(n)(x + 1) - (-1)^n n! / x^(n+1) up to x = 20, then asymptotic series."""
    y, total = x.copy(), np.full_like(x, -0.0)
    sign, factorial = (-1.0) ** (n + 1), math.factorial(n)
    for _ in range(20):
        low = y < 20
        total += np.where(low, sign * factorial / np.where(low, y, 1.0) ** (n + 1), -0.0)
        y = np.where(low, y + 1.0, y)
    lead = -np.log(y) if n == 0 else math.factorial(n - 1) / y**n
    series = factorial / (2 * y ** (n + 1))
    for k, bernoulli in enumerate(BERNOULLI[:10], 1):
        weight = bernoulli * math.factorial(2 * k + n - 1) / math.factorial(2 * k)
        series = series + weight / y ** (2 * k + n)
    return total + sign * (lead + series)
