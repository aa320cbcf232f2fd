"""SciPy's special functions for programs that are differentiated.

NumPy's protocol serves those that Retrograd has, which are ufuncs; the others are here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from ..extend import notrace_primitive
from .rules import elementwise, instead_of

__all__ = ["gammasgn", "logsumexp", "multigammaln", "polygamma"]

polygamma: Any = elementwise(
    scipy.special.polygamma, None, lambda ans, n, x: polygamma(np.asarray(n) + 1, x)
)
gammasgn = notrace_primitive(scipy.special.gammasgn)


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
