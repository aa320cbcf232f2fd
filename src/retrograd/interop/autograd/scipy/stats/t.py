"""Student's t distribution; what is not here is SciPy's."""

from typing import Any

import numpy as np
import scipy.stats
from scipy import special

from ..rules import elementwise, instead_of

__all__ = ["cdf", "logcdf", "logpdf", "pdf"]


@instead_of(scipy.stats.t.logpdf)
def logpdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of the density at `x`, for `df` degrees of freedom; arguments broadcast."""
    z = (x - loc) / scale
    size = special.gammaln((df + 1) / 2) - special.gammaln(df / 2) - np.log(np.pi * df) / 2
    return size - (df + 1) / 2 * np.log1p(z**2 / df) - np.log(scale)


@instead_of(scipy.stats.t.pdf)
def pdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The density at `x`."""
    return np.exp(logpdf(x, df, loc, scale))


standard = elementwise(special.stdtr, None, lambda ans, df, z: pdf(z, df))


@instead_of(scipy.stats.t.cdf)
def cdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The probability of at most `x`, which has no derivative in `df`."""
    return standard(df, (x - loc) / scale)


@instead_of(scipy.stats.t.logcdf)
def logcdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of the probability of at most `x`."""
    return np.log(cdf(x, df, loc, scale))


def __getattr__(name: str) -> Any:
    return getattr(scipy.stats.t, name)
