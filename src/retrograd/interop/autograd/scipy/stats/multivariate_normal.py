"""The normal distribution of vectors; what is not here is SciPy's."""

from typing import Any

import numpy as np
import scipy.stats

from ..rules import instead_of

__all__ = ["entropy", "logpdf", "pdf"]


def logdet(cov: Any, allow_singular: bool) -> tuple[Any, int]:
    """The logarithm of the determinant, or of its nonzero part, and the rank."""
    if not allow_singular:
        return np.linalg.slogdet(cov)[1], len(cov)
    values = np.linalg.eigvalsh(cov)
    kept = values[values > 1e6 * np.finfo(float).eps * np.max(values)]
    return np.sum(np.log(kept)), len(kept)


@instead_of(scipy.stats.multivariate_normal.logpdf)
def logpdf(x: Any, mean: Any, cov: Any, allow_singular: bool = False) -> Any:
    """The logarithm of the density at `x` (..., N), of mean (N,) and covariance (N, N).

    A singular covariance has a density in the space that it spans.
    """
    away = x - mean
    size, rank = logdet(cov, allow_singular)
    inverse = np.linalg.pinv(cov) if allow_singular else np.linalg.inv(cov)
    square = np.sum(np.matmul(away, inverse) * away, axis=-1)
    return -(square + size + rank * np.log(2 * np.pi)) / 2


@instead_of(scipy.stats.multivariate_normal.pdf)
def pdf(x: Any, mean: Any, cov: Any, allow_singular: bool = False) -> Any:
    """The density at `x` (..., N)."""
    return np.exp(logpdf(x, mean, cov, allow_singular))


@instead_of(scipy.stats.multivariate_normal.entropy)
def entropy(mean: Any, cov: Any) -> Any:
    """The entropy, which depends on the covariance (N, N) alone."""
    return (np.linalg.slogdet(cov)[1] + len(cov) * (1 + np.log(2 * np.pi))) / 2


def __getattr__(name: str) -> Any:
    return getattr(scipy.stats.multivariate_normal, name)
