"""The gamma distribution; what is not here is SciPy's."""

from typing import Any

import numpy as np
import scipy.stats
from scipy import special

from ..rules import instead_of

__all__ = ["cdf", "logpdf", "pdf"]


@instead_of(scipy.stats.gamma.logpdf)
def logpdf(x: Any, a: Any) -> Any:
    """The logarithm of the density at `x` > 0, of shape `a`; arguments broadcast."""
    return (a - 1) * np.log(x) - x - special.gammaln(a)


@instead_of(scipy.stats.gamma.pdf)
def pdf(x: Any, a: Any) -> Any:
    """The density at `x` > 0."""
    return np.exp(logpdf(x, a))


@instead_of(scipy.stats.gamma.cdf)
def cdf(x: Any, a: Any) -> Any:
    """The probability of at most `x`, which has a derivative in `x` alone."""
    return special.gammainc(a, x)


def __getattr__(name: str) -> Any:
    return getattr(scipy.stats.gamma, name)
