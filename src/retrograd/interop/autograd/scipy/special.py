"""SciPy's special functions for programs that are differentiated.

NumPy's protocol serves those that Retrograd has; the others are here, with their derivatives.
Source of the formulas: the NIST Digital Library of Mathematical Functions, chapters 5, 7, 8 and 10.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from ..extend import notrace_primitive
from .rules import elementwise, instead_of

__all__ = [
    "beta",
    "betainc",
    "betaln",
    "digamma",
    "erfcinv",
    "gamma",
    "gammasgn",
    "iv",
    "ive",
    "jn",
    "jv",
    "logsumexp",
    "multigammaln",
    "polygamma",
    "psi",
    "rgamma",
    "yn",
]

polygamma = elementwise(
    scipy.special.polygamma, None, lambda ans, n, x: polygamma(np.asarray(n) + 1, x)
)
psi = digamma = elementwise(scipy.special.psi, lambda ans, x: polygamma(1, x))
gamma = elementwise(scipy.special.gamma, lambda ans, x: ans * psi(x))
rgamma = elementwise(scipy.special.rgamma, lambda ans, x: -ans * psi(x))
gammasgn = notrace_primitive(scipy.special.gammasgn)
beta = elementwise(
    scipy.special.beta,
    lambda ans, a, b: ans * (psi(a) - psi(a + b)),
    lambda ans, a, b: ans * (psi(b) - psi(a + b)),
)
betaln = elementwise(
    scipy.special.betaln,
    lambda ans, a, b: psi(a) - psi(a + b),
    lambda ans, a, b: psi(b) - psi(a + b),
)
betainc = elementwise(
    scipy.special.betainc,
    None,
    None,
    lambda ans, a, b, x: x ** (a - 1) * (1 - x) ** (b - 1) / beta(a, b),
)
erfcinv = elementwise(scipy.special.erfcinv, lambda ans, x: -np.sqrt(np.pi) / 2 * np.exp(ans**2))
jv = elementwise(scipy.special.jv, None, lambda ans, n, x: (jv(n - 1, x) - jv(n + 1, x)) / 2)
jn = jv
yn = elementwise(scipy.special.yn, None, lambda ans, n, x: (yn(n - 1, x) - yn(n + 1, x)) / 2)
iv = elementwise(scipy.special.iv, None, lambda ans, n, x: (iv(n - 1, x) + iv(n + 1, x)) / 2)
ive = elementwise(
    scipy.special.ive,
    None,
    lambda ans, n, x: (ive(n - 1, x) + ive(n + 1, x)) / 2 - ans * np.sign(x),
)


def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the multivariate gamma function of dimension `d`, elementwise.

    >>> from retrograd.interop.autograd.scipy.special import multigammaln
    >>> round(float(multigammaln(2.0, 1)), 6)
    0.0
    """
    terms = [scipy.special.gammaln(a - j / 2) for j in range(d)]
    return d * (d - 1) / 4 * np.log(np.pi) + sum(terms)


@instead_of(scipy.special.logsumexp)
def logsumexp(a: Any, axis: Any = None, b: Any = 1.0, keepdims: bool = False) -> Any:
    """log(sum(b * exp(a))) along axes, all by default; real.

    >>> from retrograd.interop.autograd import grad
    >>> from retrograd.interop.autograd.scipy.special import logsumexp
    >>> grad(logsumexp)(np.zeros(2))
    array([0.5, 0.5])
    """
    largest = np.max(a, axis=axis, keepdims=True)
    total = np.sum(b * np.exp(a - largest), axis=axis, keepdims=True)
    found = np.log(total) + largest
    return found if keepdims else np.squeeze(found, axis)


def __getattr__(name: str) -> Any:
    return getattr(scipy.special, name)
