"""The beta distribution; what is not here is SciPy's."""

from typing import Any

import numpy as np
import scipy.stats
from scipy.special import betainc, betaln

from ..rules import instead_of

__all__ = ["cdf", "logpdf", "pdf"]


@instead_of(scipy.stats.beta.logpdf)
def logpdf(x: Any, a: Any, b: Any) -> Any:
    """The logarithm of the density at `x` in (0, 1); arguments broadcast."""
    return (a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - betaln(a, b)


@instead_of(scipy.stats.beta.pdf)
def pdf(x: Any, a: Any, b: Any) -> Any:
    """The density at `x` in (0, 1)."""
    return np.exp(logpdf(x, a, b))


@instead_of(scipy.stats.beta.cdf)
def cdf(x: Any, a: Any, b: Any) -> Any:
    """The probability of at most `x`, which has a derivative in `x` alone."""
    return betainc(a, b, x)


def __getattr__(name: str) -> Any:
    return getattr(scipy.stats.beta, name)
