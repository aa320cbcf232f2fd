"""The Dirichlet distribution; what is not here is SciPy's."""

from typing import Any

import numpy as np
import scipy.stats
from scipy import special

from ..rules import instead_of

__all__ = ["logpdf", "pdf"]


@instead_of(scipy.stats.dirichlet.logpdf)
def logpdf(x: Any, alpha: Any) -> Any:
    """The logarithm of the density at `x` (N,), which is positive and sums to one."""
    size = special.gammaln(np.sum(alpha)) - np.sum(special.gammaln(alpha))
    return size + np.sum((alpha - 1) * np.log(x))


@instead_of(scipy.stats.dirichlet.pdf)
def pdf(x: Any, alpha: Any) -> Any:
    """The density at `x` (N,)."""
    return np.exp(logpdf(x, alpha))


def __getattr__(name: str) -> Any:
    return getattr(scipy.stats.dirichlet, name)
