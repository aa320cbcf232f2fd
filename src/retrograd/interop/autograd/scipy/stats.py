"""SciPy's distributions for programs that are differentiated, each a module; the rest is SciPy's.

Arguments broadcast, but for `dirichlet` and `multivariate_normal`. Probabilities of `beta`, `chi2`,
`gamma` and `t` have a derivative in `x` alone.

>>> from retrograd.interop.autograd import grad
>>> from retrograd.interop.autograd.scipy.stats import norm
>>> float(grad(norm.logpdf)(2.0))
-2.0
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import scipy.stats
from scipy import special

from ....ops.core.arguments import titled
from .rules import elementwise, instead_of

__all__ = ["beta", "chi2", "dirichlet", "gamma", "multivariate_normal", "norm", "poisson", "t"]

ROOT = np.log(2 * np.pi) / 2
DOCS = {
    "cdf": "The probability of at most `x`.",
    "entropy": "The entropy, which depends on the covariance (N, N) alone.",
    "logcdf": "The logarithm of the probability of at most `x`.",
    "logpdf": "The logarithm of the density at `x`.",
    "logpmf": "The logarithm of the probability of `k`.",
    "logsf": "The logarithm of the probability of more than `x`.",
    "pdf": "The density at `x`.",
    "pmf": "The probability of `k`.",
    "sf": "The probability of more than `x`.",
}


class Distribution(ModuleType):
    """The functions of one distribution; what it has not is SciPy's."""

    def __init__(self, name: str, functions: dict[str, Callable[..., Any]]) -> None:
        super().__init__(f"{__name__}.{name}", f"SciPy's distribution `{name}`.")
        self.__dict__["_scipys"] = theirs = getattr(scipy.stats, name)
        for own, function in functions.items():
            setattr(self, own, instead_of(getattr(theirs, own))(titled(function, own, DOCS[own])))
        self.__all__ = list(functions)
        sys.modules[self.__name__] = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_scipys"], name)


def exp_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The exponential of a function."""
    return lambda *args, **options: np.exp(function(*args, **options))


def densities(name: str, log: Callable[..., Any], **functions: Callable[..., Any]) -> Distribution:
    """A distribution by the logarithm of its density."""
    return Distribution(name, {"logpdf": log, "pdf": exp_of(log), **functions})


def chi2_log(x: Any, df: Any) -> Any:
    """The logarithm of the chi-square density with `df` degrees of freedom, for `x` > 0."""
    half = df / 2
    return (half - 1) * np.log(x) - x / 2 - half * np.log(2.0) - special.gammaln(half)


def dirichlet_log(x: Any, alpha: Any) -> Any:
    """The logarithm of Dirichlet's density at `x` (N,), which is positive and sums to one."""
    size = special.gammaln(np.sum(alpha)) - np.sum(special.gammaln(alpha))
    return size + np.sum((alpha - 1) * np.log(x))


def logdet(cov: Any, allow_singular: bool) -> tuple[Any, int]:
    """The logarithm of the determinant, or of its nonzero part, and the rank."""
    if not allow_singular:
        return np.linalg.slogdet(cov)[1], len(cov)
    values = np.linalg.eigvalsh(cov)
    kept = values[values > 1e6 * np.finfo(float).eps * np.max(values)]
    return np.sum(np.log(kept)), len(kept)


def multivariate_log(x: Any, mean: Any, cov: Any, allow_singular: bool = False) -> Any:
    """The logarithm of the normal density at `x` (..., N): mean (N,), covariance (N, N).

    A singular covariance has a density in the space that it spans.
    """
    away = x - mean
    size, rank = logdet(cov, allow_singular)
    inverse = np.linalg.pinv(cov) if allow_singular else np.linalg.inv(cov)
    square = np.sum(np.matmul(away, inverse) * away, axis=-1)
    return -(square + size + rank * np.log(2 * np.pi)) / 2


def t_log(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of Student's density with `df` degrees of freedom."""
    z = (x - loc) / scale
    size = special.gammaln((df + 1) / 2) - special.gammaln(df / 2) - np.log(np.pi * df) / 2
    return size - (df + 1) / 2 * np.log1p(z**2 / df) - np.log(scale)


def t_cdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Student's distribution function with `df` degrees of freedom."""
    return standard_t(df, (x - loc) / scale)


standard_t = elementwise(special.stdtr, None, lambda ans, df, z: np.exp(t_log(z, df)))


beta = densities(
    "beta",
    lambda x, a, b: (a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - special.betaln(a, b),
    cdf=lambda x, a, b: special.betainc(a, b, x),
)
chi2 = densities("chi2", chi2_log, cdf=lambda x, df: special.gammainc(df / 2, x / 2))
dirichlet = densities("dirichlet", dirichlet_log)
gamma = densities(
    "gamma",
    lambda x, a: (a - 1) * np.log(x) - x - special.gammaln(a),
    cdf=lambda x, a: special.gammainc(a, x),
)
multivariate_normal = densities(
    "multivariate_normal",
    multivariate_log,
    entropy=lambda mean, cov: (np.linalg.slogdet(cov)[1] + len(cov) * (1 + 2 * ROOT)) / 2,
)
norm = densities(
    "norm",
    lambda x, loc=0.0, scale=1.0: -(((x - loc) / scale) ** 2) / 2 - np.log(scale) - ROOT,
    cdf=lambda x, loc=0.0, scale=1.0: special.ndtr((x - loc) / scale),
    logcdf=lambda x, loc=0.0, scale=1.0: special.log_ndtr((x - loc) / scale),
    sf=lambda x, loc=0.0, scale=1.0: special.ndtr((loc - x) / scale),
    logsf=lambda x, loc=0.0, scale=1.0: special.log_ndtr((loc - x) / scale),
)
t = densities(
    "t", t_log, cdf=t_cdf, logcdf=lambda *args, **options: np.log(t_cdf(*args, **options))
)


def poisson_log(k: Any, mu: Any) -> Any:
    """The logarithm of Poisson probabilities, differentiable in the mean `mu`."""
    return k * np.log(mu) - mu - special.gammaln(k + 1)


poisson = Distribution(
    "poisson",
    {
        "logpmf": poisson_log,
        "pmf": exp_of(poisson_log),
        "cdf": lambda k, mu: special.gammaincc(np.floor(k) + 1, mu),
    },
)
