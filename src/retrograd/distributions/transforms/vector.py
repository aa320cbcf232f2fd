"""Transforms of vectors and matrices: onto simplices, triangular and positive definite matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import dtypes, linalg, ops
from ...engine.tensor import Size, Tensor
from .. import constraints
from ..utils import clamp_probs, softplus, tril_matrix_to_vec, vec_to_tril_matrix
from .base import PlainTransform, Transform, check_dims

__all__ = [
    "CorrCholeskyTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform",
    "ReshapeTransform", "SoftmaxTransform", "StickBreakingTransform",
]  # fmt: skip


class SoftmaxTransform(PlainTransform):
    """y = exp(x), normalised along the last dimension; not bijective: `inv` gives log y.

    >>> rg.distributions.SoftmaxTransform()(rg.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """The same shape, of one dimension at least."""
        return check_dims(shape, 1)

    inverse_shape = forward_shape


class StickBreakingTransform(PlainTransform):
    """Points of a simplex, one component more than x has: each breaks its share off the rest.

    The share of component i, of n, is the sigmoid of x_i - log(n - 1 - i): of x = 0 all are equal.

    >>> rg.distributions.StickBreakingTransform()(rg.zeros(3))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = True

    def _left(self, x: Tensor) -> Tensor:
        """The logarithm of the number of components after each."""
        count = x.shape[-1]
        return ops.arange(count, 0, -1, dtype=x.dtype).log()

    def _call(self, x: Tensor) -> Tensor:
        share = clamp_probs((x - self._left(x)).sigmoid())
        one = ops.ones_like(share[..., :1])
        rest = (1 - share).cumprod(-1)
        return ops.cat([share, one], -1) * ops.cat([one, rest], -1)

    def _inverse(self, y: Tensor) -> Tensor:
        rest = 1 - y[..., :-1].cumsum(-1)
        rest = rest.clamp(min=dtypes.finfo(y.dtype).tiny)
        return y[..., :-1].log() - rest.log() + self._left(rest)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum of log(share (1 - share) rest), which is log(y_i (1 - share))."""
        return (y[..., :-1].log() - softplus(x - self._left(x))).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """The shape with one component more."""
        given = check_dims(shape, 1)
        return type(given)((*given[:-1], given[-1] + 1))

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """The shape with one component less."""
        given = check_dims(shape, 1)
        return type(given)((*given[:-1], given[-1] - 1))


class CorrCholeskyTransform(PlainTransform):
    """Vectors of n (n - 1) / 2 numbers as Cholesky factors of n x n correlation matrices.

    The numbers fill what is below the diagonal, row by row. Their tanh are partial correlations: of
    the squared length that is left of a row, 1 at its beginning, each takes its square.

    >>> rg.distributions.CorrCholeskyTransform()(rg.tensor([0.5]))
    tensor([[1.0000, 0.0000],
            [0.4621, 0.8868]])
    """

    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = dtypes.finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r * r).sqrt().cumprod(-1)
        before = ops.cat([ops.ones_like(left[..., :1]), left[..., :-1]], -1)
        return (r + ops.eye(r.shape[-1], dtype=x.dtype)) * before

    def _before(self, y: Tensor) -> Tensor:
        """The squared length that is left of a row before each component."""
        left = 1 - (y * y).cumsum(-1)
        before = ops.cat([ops.ones_like(left[..., :1]), left[..., :-1]], -1)
        return tril_matrix_to_vec(before, diag=-1).clamp(min=dtypes.finfo(y.dtype).tiny)

    def _inverse(self, y: Tensor) -> Tensor:
        return (tril_matrix_to_vec(y, diag=-1) / self._before(y).sqrt()).atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |det J| of tanh, and of the lengths that are left in each row."""
        tanh = 2 * (math.log(2) - x - softplus(-2 * x))
        return (tanh + 0.5 * self._before(y).log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """(..., n (n - 1) / 2) becomes (..., n, n); ValueError for another count."""
        given = check_dims(shape, 1)
        n = (1 + math.isqrt(1 + 8 * shape[-1])) // 2
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError(
                f"Input is not a flattened lower-diagonal number: {shape[-1]} is no n (n - 1) / 2"
            )
        return type(given)((*shape[:-1], n, n))

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """(..., n, n) becomes (..., n (n - 1) / 2); ValueError unless square."""
        given = check_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError(f"Input is not square: {tuple(shape)}")
        return type(given)((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class LowerCholeskyTransform(PlainTransform):
    """Lower triangular matrices of positive diagonal: the exponential of the diagonal of x.

    >>> rg.distributions.LowerCholeskyTransform()(rg.tensor([[0.0, 9.0], [2.0, 0.0]]))
    tensor([[1., 0.],
            [2., 1.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(PlainTransform):
    """Positive definite matrices L L^T, for the L of `LowerCholeskyTransform`.

    >>> rg.distributions.PositiveDefiniteTransform()(rg.tensor([[0.0, 9.0], [2.0, 0.0]]))
    tensor([[1., 2.],
            [2., 5.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(linalg.cholesky(y))


class ReshapeTransform(Transform):
    """Events of shape `in_shape` as events of `out_shape`; ValueError if of another size.

    >>> rg.distributions.ReshapeTransform((4,), (2, 2))(rg.zeros(3, 4)).shape
    retrograd.Size([3, 2, 2])
    """

    bijective = True
    _arguments = ("in_shape", "out_shape")

    def __init__(
        self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(
                "in_shape, out_shape have different numbers of elements: "
                f"{tuple(in_shape)} and {tuple(out_shape)}"
            )

    @constraints.dependent_property
    def domain(self) -> Any:
        """Real, of the dimensions of `in_shape`."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Real, of the dimensions of `out_shape`."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Zeros: a reshape changes no volume."""
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """`out_shape` in the place of `in_shape`, which must end the shape; else ValueError."""
        return _replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """`in_shape` in the place of `out_shape`, which must end the shape; else ValueError."""
        return _replaced(shape, self.out_shape, self.in_shape)


def _replaced(shape: Sequence[int], old: Size, new: Size) -> Size:
    batch = len(check_dims(shape, len(old))) - len(old)
    if tuple(shape[batch:]) != old:
        raise ValueError(f"Shape mismatch: expected {tuple(shape[batch:])} but got {old}")
    return Size((*shape[:batch], *new))
