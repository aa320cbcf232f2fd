"""The chi-squared distribution; what is not here is SciPy's."""

from typing import Any

import numpy as np
import scipy.stats
from scipy import special

from ..rules import instead_of

__all__ = ["cdf", "logpdf", "pdf"]


@instead_of(scipy.stats.chi2.logpdf)
def logpdf(x: Any, df: Any) -> Any:
    """The logarithm of the density at `x` > 0, for `df` degrees of freedom; they broadcast."""
    half = df / 2
    return (half - 1) * np.log(x) - x / 2 - half * np.log(2.0) - special.gammaln(half)


@instead_of(scipy.stats.chi2.pdf)
def pdf(x: Any, df: Any) -> Any:
    """The density at `x` > 0."""
    return np.exp(logpdf(x, df))


@instead_of(scipy.stats.chi2.cdf)
def cdf(x: Any, df: Any) -> Any:
    """The probability of at most `x`, which has a derivative in `x` alone."""
    return special.gammainc(df / 2, x / 2)


def __getattr__(name: str) -> Any:
    return getattr(scipy.stats.chi2, name)
