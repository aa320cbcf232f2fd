"""Multivariate normal distributions: with a full, and with a low-rank covariance matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from .. import linalg, ops
from ..engine.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal", "MultivariateNormal"]

LOG_2PI = math.log(2 * math.pi)


def cholesky_of_inverse(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse of positive definite matrices.

    With rows and columns in reverse, the factor L of P gives P = U U^T for an upper triangular U,
    so the inverse of U^T, which is lower triangular, is the factor of the inverse of P.
    """
    upper = linalg.cholesky(precision.flip(-2, -1)).flip(-2, -1)
    eye = ops.eye(precision.shape[-1], dtype=precision.dtype)
    return linalg.solve_triangular(upper.mT, eye, upper=False)


_precision_to_scale_tril = cholesky_of_inverse  # PyTorch's name


def half_log_det(factor: Tensor) -> Tensor:
    """Half the logarithm of det L L^T for lower triangular L."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def squares(matrix: Tensor) -> Tensor:
    """The sum of the squares of a matrix's elements."""
    return (matrix * matrix).sum((-2, -1))


def squares_of_solution(factor: Tensor, x: Tensor) -> Tensor:
    """The sum of the squares of L^-1 X for lower triangular L; all X of one L are solved at once.

    So X of shape (*samples, *batch, n, m) with L (*batch, n, n) stand side by side, m * samples
    columns for each L; and samples are innermost in the result, as in PyTorch's.
    """
    samples = max(x.dim() - factor.dim(), 0)
    first, beside = tuple(range(samples)), tuple(range(-1 - samples, -1))
    rows = x.movedim(first, beside)
    solved = linalg.solve_triangular(factor, rows.flatten(-1 - samples), upper=False)
    apart = (*solved.shape[:-1], *rows.shape[-1 - samples :])
    total = (solved * solved).reshape(apart).sum((-2 - samples, -1))
    return total.movedim(tuple(range(-samples, 0)), first)


def for_batch(own: Distribution, matrix: Tensor) -> Tensor:
    """A matrix of the parameters of a distribution, for each of its batch."""
    return matrix.expand((*own.batch_shape, -1, -1))


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Products of matrices (..., n, m) and vectors (..., m); PyTorch's name, as the next."""
    return (bmat @ bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:
    """x^T (L L^T)^-1 x for lower triangular L, (..., n, n), and vectors x, (..., n)."""
    return squares_of_solution(bL, bx.unsqueeze(-1))


class _Normal(Distribution):
    """What multivariate normal distributions share, however their covariance is held.

    A subclass has a `_factor` F with F F^T = C, its covariance, half the logarithm of det C as
    `_half_log_det()`, and `_squared_length(X)`, the trace of X^T C^-1 X. One may show another shape
    of an event, as GPyTorch's do, so what counts here is `_event_shape`.
    """

    support = constraints.real_vector
    has_rsample = True
    mean = mode = property(lambda self: self.loc, doc="`loc`.")

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        length = self._squared_length((value - self.loc).unsqueeze(-1))
        return -0.5 * (self._event_shape[0] * LOG_2PI + length) - self._half_log_det()

    def entropy(self) -> Tensor:
        value = 0.5 * self._event_shape[0] * (1 + LOG_2PI) + self._half_log_det()
        return value.expand(self._batch_shape) if self._batch_shape else value


class ByScale(Distribution):
    """Distributions given by a covariance matrix, its inverse, or its Cholesky factor.

    The two that are not given are derived; computations need the factor.
    """

    def _by_matrix(self, batch: Any, covariance: Any, precision: Any, scale_tril: Any) -> Any:
        """Take the one matrix that is given; return the whole batch shape, its name, and it."""
        given = {
            "covariance_matrix": covariance,
            "precision_matrix": precision,
            "scale_tril": scale_tril,
        }
        given = {name: matrix for name, matrix in given.items() if matrix is not None}
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                f"specified, but got {list(given) or 'none'}."
            )
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch = ops.broadcast_shapes(batch, matrix.shape[:-2])
        setattr(self, name, matrix.expand((*batch, *matrix.shape[-2:])))
        return batch, name, matrix

    def _factorize(self, name: str, matrix: Tensor) -> None:
        """Keep the Cholesky factor, of the batch shape that the given matrix had."""
        if name == "covariance_matrix":
            matrix = linalg.cholesky(matrix)
        elif name == "precision_matrix":
            matrix = cholesky_of_inverse(matrix)
        self._unbroadcasted_scale_tril = matrix

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance matrix."""
        return for_batch(self, self._factor)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        return for_batch(self, self._factor @ self._factor.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        return for_batch(self, ops.cholesky_inverse(self._factor))

    _factor = property(lambda self: self._unbroadcasted_scale_tril)


class MultivariateNormal(ByScale, _Normal):
    """The normal distribution of mean `loc` (..., n) and one of three (..., n, n) matrices.

    These are `covariance_matrix`, its inverse `precision_matrix`, or its Cholesky factor
    `scale_tril`, which is what computations need. Raises ValueError unless one is given. Source:
    PyTorch's `distributions.MultivariateNormal`.

    >>> m = rg.distributions.MultivariateNormal(rg.zeros(2), rg.tensor([[2.0, 1.0], [1.0, 2.0]]))
    >>> m.log_prob(rg.zeros(2)), m.entropy()
    (tensor(-2.3872), tensor(3.3872))
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        batch, *given = self._by_matrix(
            loc.shape[:-1], covariance_matrix, precision_matrix, scale_tril
        )
        self.loc = loc.expand((*batch, loc.shape[-1]))
        super().__init__(batch, loc.shape[-1:], validate_args=validate_args)
        self._factorize(*given)

    @property
    def variance(self) -> Tensor:
        """The diagonal of the covariance matrix."""
        return (self._factor**2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """loc + scale_tril z."""
        z = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype)
        return self.loc + (self._factor @ z.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self) -> Tensor:
        return half_log_det(self._factor)

    def _squared_length(self, x: Tensor) -> Tensor:
        return squares_of_solution(self._factor, x)


class LowRankMultivariateNormal(_Normal):
    """The normal distribution of covariance W W^T + D: of low rank, plus a diagonal matrix.

    `loc` (..., n), W = `cov_factor` (..., n, k), and the diagonal `cov_diag` (..., n) > 0. For k
    much smaller than n it is cheaper than `MultivariateNormal`: by the identities of Woodbury, only
    a k x k matrix is decomposed. Raises ValueError for other shapes. Source: PyTorch's
    `distributions.LowRankMultivariateNormal`.

    >>> LowRank = rg.distributions.LowRankMultivariateNormal
    >>> LowRank(rg.zeros(2), rg.tensor([[1.0], [0.0]]), rg.ones(2)).variance
    tensor([2., 1.])
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }

    def __init__(
        self,
        loc: Tensor,
        cov_factor: Tensor,
        cov_diag: Tensor,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {event[0]} x m, but its shape "
                f"is {tuple(cov_factor.shape)}"
            )
        if cov_diag.shape[-1:] != event:
            raise ValueError(
                f"cov_diag must be a batch of vectors with shape {event}, but its shape is "
                f"{tuple(cov_diag.shape)}"
            )
        batch = ops.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc = loc.expand((*batch, *event))
        self.cov_factor = cov_factor.expand((*batch, *cov_factor.shape[-2:]))
        self.cov_diag = cov_diag.expand((*batch, *event))
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        super().__init__(batch, event, validate_args=validate_args)

    _low = property(lambda self: self._unbroadcasted_cov_factor, doc="W as it was given.")
    _diag = property(lambda self: self._unbroadcasted_cov_diag, doc="D as it was given.")

    @lazy_property
    def variance(self) -> Tensor:
        """The diagonal of the covariance matrix."""
        found = (self._low**2).sum(-1) + self._diag
        return found.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """W W^T + D."""
        return for_batch(self, self._covariance)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance matrix."""
        return for_batch(self, linalg.cholesky(self._covariance))

    @property
    def _covariance(self) -> Tensor:
        return self._low @ self._low.mT + self._diag.diag_embed()

    @lazy_property
    def _whitened(self) -> Tensor:
        """D^(-1/2) W."""
        return self._low / self._diag.sqrt().unsqueeze(-1)

    @lazy_property
    def _capacitance_tril(self) -> Tensor:
        """The Cholesky factor of I + W^T D^-1 W, of the size of the rank."""
        eye = ops.eye(self._low.shape[-1], dtype=self.loc.dtype)
        return linalg.cholesky(eye + self._whitened.mT @ self._whitened)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """D^-1 - D^-1 W (I + W^T D^-1 W)^-1 W^T D^-1."""
        scaled = (self._low / self._diag.unsqueeze(-1)).mT
        inner = linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return for_batch(self, self._diag.reciprocal().diag_embed() - inner.mT @ inner)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """loc + W z + D^(1/2) z'."""
        shape, dtype = self._extended_shape(sample_shape), self.loc.dtype
        low = _standard_normal((*shape[:-1], self._low.shape[-1], 1), dtype)
        own = self._diag.sqrt() * _standard_normal(shape, dtype)
        return self.loc + (self._low @ low).squeeze(-1) + own

    @property
    def _factor(self) -> Tensor:
        return ops.cat([self.cov_factor, self.cov_diag.sqrt().diag_embed()], -1)

    def _half_log_det(self) -> Tensor:
        return half_log_det(self._capacitance_tril) + 0.5 * self.cov_diag.log().sum(-1)

    def _squared_length(self, x: Tensor) -> Tensor:
        white = x / self.cov_diag.sqrt().unsqueeze(-1)
        inner = self._whitened.mT @ white
        return squares(white) - squares_of_solution(self._capacitance_tril, inner)
