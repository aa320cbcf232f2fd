"""Distributions of matrices: Wishart, and LKJ by its Cholesky factors."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import ClassVar

from .. import dtypes, linalg, ops
from ..autograd.grad_mode import no_grad
from ..engine.tensor import Tensor
from ..ops.nn.normalization import normalize
from . import constraints
from .beta_family import Beta
from .distribution import Distribution, ExponentialFamily
from .gamma_family import Chi2
from .multivariate import ByScale, half_log_det, squares
from .utils import Values, _standard_normal

__all__ = ["LKJCholesky", "Wishart"]


class Wishart(ByScale, ExponentialFamily):
    """The Wishart distribution of `df` > n - 1 degrees of freedom: sums of `df` squares z z^T.

    The covariance of z is given as one of three (..., n, n) matrices, as for `MultivariateNormal`.
    Raises ValueError unless one is given, and for a smaller `df`. Source: PyTorch's
    `distributions.Wishart`.

    >>> w = rg.distributions.Wishart(rg.tensor(3.0), rg.eye(2))
    >>> w.mean, w.log_prob(rg.eye(2))
    (tensor([[3., 0.],
            [0., 3.]]), tensor(-3.5310))
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        df: Values,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        shape = df.shape if isinstance(df, Tensor) else ()
        batch, name, matrix = self._by_matrix(
            shape, covariance_matrix, precision_matrix, scale_tril
        )
        self.df = ops.as_tensor(df, dtype=matrix.dtype).expand(batch)
        event = matrix.shape[-2:]
        if not (self.df > event[-1] - 1).all():
            raise ValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = {event[-1] - 1}."
            )
        super().__init__(batch, event, validate_args=validate_args)
        self._factorize(name, matrix)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The matrices, and `df` above n - 1."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._n - 1),
        }

    _n = property(lambda self: self._event_shape[-1])
    _scaled = property(lambda self: self.df[..., None, None], doc="`df` for matrices.")
    mean = property(lambda self: self._scaled * self.covariance_matrix, doc="df C.")

    @property
    def mode(self) -> Tensor:
        """(df - n - 1) C, NaN where that is no positive number."""
        factor = self._scaled - self._n - 1
        return factor.masked_fill(factor <= 0, math.nan) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        """df (C_ij^2 + C_ii C_jj)."""
        c = self.covariance_matrix
        diagonal = c.diagonal(dim1=-2, dim2=-1)
        return self._scaled * (c**2 + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples L A A^T L^T, by the decomposition of M. S. Bartlett, 1933."""
        df = self.df.unsqueeze(-1) - ops.arange(self._n, dtype=self.df.dtype)
        roots = Chi2(df, validate_args=False).rsample(sample_shape).sqrt().diag_embed()
        row, column = ops.tril_indices(self._n, self._n, -1)
        roots[..., row, column] = _standard_normal((*roots.shape[:-2], len(row)), roots.dtype)
        factor = self._factor @ roots
        return factor @ factor.mT

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        factor = linalg.cholesky(value)
        trace = squares(linalg.solve_triangular(self._factor, factor, upper=False))
        half, n = self.df / 2, self._n
        normalizer = half * n * math.log(2) + ops.mvlgamma(half, n)
        normalizer = normalizer + self.df * half_log_det(self._factor)
        return (self.df - n - 1) * half_log_det(factor) - trace / 2 - normalizer

    def entropy(self) -> Tensor:
        half, n = self.df / 2, self._n
        digamma = sum((half - 0.5 * j).digamma() for j in range(n))
        factor = (n + 1) * half_log_det(self._factor) + n * (n + 1) / 2 * math.log(2)
        return factor + ops.mvlgamma(half, n) - (half - (n + 1) / 2) * digamma + half * n

    _natural_params = property(lambda self: (self.df / 2, -self.precision_matrix / 2))

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return ops.mvlgamma(x, self._n) - x * linalg.slogdet(-y).logabsdet


class LKJCholesky(Distribution):
    """Cholesky factors of `dim` x `dim` correlation matrices R of density ~ det(R)^(c - 1).

    The `concentration` c > 0; of 1 it is uniform. Raises ValueError for `dim` < 2. Source:
    D. Lewandowski, D. Kurowicka, H. Joe, "Generating random correlation matrices based on vines and
    extended onion method", 2009; PyTorch's `distributions.LKJCholesky`.

    >>> lkj = rg.distributions.LKJCholesky(3, 0.5)
    >>> factor = lkj.sample()
    >>> rg.allclose((factor @ factor.mT).diagonal(), rg.ones(3))
    True
    """

    arg_constraints: ClassVar = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Values = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = operator.index(dim)
        self.concentration = ops.as_tensor(concentration)
        shape = self.concentration.shape
        super().__init__(shape, (self.dim, self.dim), validate_args=validate_args)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Row by row: a direction, and how much of the length 1 lies off the diagonal."""
        with no_grad():
            shape, c = self._extended_shape(sample_shape), self.concentration.unsqueeze(-1)
            before = (ops.arange(self.dim, dtype=c.dtype) - 1).clamp_(min=0) / 2
            beta = Beta(before + 0.5, c + self.dim / 2 - 1 - before, validate_args=False)
            off = beta.sample(sample_shape).unsqueeze(-1)
            rows = normalize(_standard_normal(shape, c.dtype).tril(-1), dim=-1)
            rows = off.sqrt() * rows
            length = (1 - (rows * rows).sum(-1)).clamp(min=dtypes.finfo(c.dtype).tiny).sqrt()
            return rows + length.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        c, d = self.concentration, self.dim
        row = ops.arange(1, d, dtype=c.dtype)
        powers = 2 * (c.unsqueeze(-1) - 1) + d - 1 - row
        density = (powers * value.diagonal(dim1=-2, dim2=-1)[..., 1:].log()).sum(-1)
        normalizer = (c.unsqueeze(-1) + (d - 1 - row) / 2).lgamma().sum(-1)
        normalizer = normalizer - (d - 1) * (c + (d - 1) / 2).lgamma()
        return density - normalizer - d * (d - 1) / 4 * math.log(math.pi)
