"""The normal distribution; what is not here is SciPy's."""

from typing import Any

import numpy as np
import scipy.stats
from scipy import special

from ..rules import instead_of

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]

ROOT = np.log(2 * np.pi) / 2


@instead_of(scipy.stats.norm.logpdf)
def logpdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of the density at `x`; arguments broadcast.

    >>> from retrograd.interop.autograd import grad
    >>> from retrograd.interop.autograd.scipy.stats import norm
    >>> float(grad(norm.logpdf)(2.0))
    -2.0
    """
    return -(((x - loc) / scale) ** 2) / 2 - np.log(scale) - ROOT


@instead_of(scipy.stats.norm.pdf)
def pdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The density at `x`."""
    return np.exp(logpdf(x, loc, scale))


@instead_of(scipy.stats.norm.cdf)
def cdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The probability of at most `x`."""
    return special.ndtr((x - loc) / scale)


@instead_of(scipy.stats.norm.logcdf)
def logcdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of the probability of at most `x`."""
    return special.log_ndtr((x - loc) / scale)


@instead_of(scipy.stats.norm.sf)
def sf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The probability of more than `x`."""
    return special.ndtr((loc - x) / scale)


@instead_of(scipy.stats.norm.logsf)
def logsf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of the probability of more than `x`."""
    return special.log_ndtr((loc - x) / scale)


def __getattr__(name: str) -> Any:
    return getattr(scipy.stats.norm, name)
