"""The Poisson distribution; what is not here is SciPy's."""

from typing import Any

import numpy as np
import scipy.stats
from scipy import special

from ..rules import instead_of

__all__ = ["cdf", "logpmf", "pmf"]


@instead_of(scipy.stats.poisson.logpmf)
def logpmf(k: Any, mu: Any) -> Any:
    """The logarithm of the probability of `k`, differentiable in the mean `mu`."""
    return k * np.log(mu) - mu - special.gammaln(k + 1)


@instead_of(scipy.stats.poisson.pmf)
def pmf(k: Any, mu: Any) -> Any:
    """The probability of `k`."""
    return np.exp(logpmf(k, mu))


@instead_of(scipy.stats.poisson.cdf)
def cdf(k: Any, mu: Any) -> Any:
    """The probability of at most `k`."""
    return special.gammaincc(np.floor(k) + 1, mu)


def __getattr__(name: str) -> Any:
    return getattr(scipy.stats.poisson, name)
