"""What distributions share: broadcasting, cached properties, probabilities and logits.

`_standard_normal` and `_sum_rightmost` have PyTorch's names because libraries import them.
"""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import dtypes, ops
from ..autograd.grad_mode import enable_grad
from ..engine.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits",
    "tril_matrix_to_vec", "vec_to_tril_matrix",
]  # fmt: skip

Values: TypeAlias = float | Tensor  # of a parameter: one for all, or one for each distribution
euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """The tensors and numbers, broadcast to one shape; numbers take the first tensor's dtype.

    Numbers alone become tensors of shape () and the default dtype. Raises ValueError for what is
    neither. Source: PyTorch's `distributions.utils.broadcast_all`.

    >>> rg.distributions.utils.broadcast_all(1, rg.tensor([2.0, 3.0]))
    (tensor([1., 1.]), tensor([2., 3.]))
    """
    tensors = [v for v in values if is_tensor_like(v)]
    if not all(isinstance(v, numbers.Real) or is_tensor_like(v) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, retrograd.Tensor or objects "
            f"implementing __torch_function__, but got {[type(v).__name__ for v in values]}."
        )
    dtype = tensors[0].dtype if tensors else dtypes.get_default_dtype()
    return tuple(
        ops.broadcast_tensors(
            *(v if is_tensor_like(v) else ops.tensor(v, dtype=dtype) for v in values)
        )
    )


def is_tensor_like(value: Any) -> bool:
    """Whether a value is a tensor or stands in for one."""
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")


def _sum_rightmost(value: Tensor, dims: int) -> Tensor:
    """The sum over the last `dims` dimensions."""
    return value if dims == 0 else value.flatten(-dims).sum(-1)


def _standard_normal(shape: Sequence[int], dtype: Any, device: Any = None) -> Tensor:
    """Numbers from the normal distribution of mean 0 and variance 1."""
    return ops.randn(shape, dtype=dtype, device=device)


def softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)), without overflow."""
    return ops.logaddexp(x, ops.zeros_like(x))


def where_finite(
    known: Tensor, parameter: Tensor, inside: float, formula: Any, other: Any
) -> Tensor:
    """`formula(parameter)` where it is `known`, else `other`, a number, with derivative 0.

    There the formula is computed at `inside`, which is one of the known: no 0 * inf is a NaN.
    """
    return ops.where(known, formula(parameter.masked_fill(~known, inside)), other)


def clamp_probs(probs: Tensor) -> Tensor:
    """The probabilities, at least the dtype's epsilon away from 0 and 1.

    >>> rg.distributions.utils.clamp_probs(rg.tensor([0.0, 0.5, 1.0]))
    tensor([1.1921e-07, 5.0000e-01, 1.0000e+00])
    """
    eps = dtypes.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of log-odds if `is_binary`, else of unnormalised logs along the last dimension.

    >>> rg.distributions.utils.logits_to_probs(rg.zeros(4))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log-odds of probabilities if `is_binary`, else their logarithms; clamped, so finite.

    >>> rg.distributions.utils.probs_to_logits(rg.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


class lazy_property:  # noqa: N801 - PyTorch's name
    """A property that is computed once, with gradients, and then is an attribute of the instance.

    >>> class Square:
    ...     side = 3
    ...
    ...     @rg.distributions.utils.lazy_property
    ...     def area(self):
    ...         return self.side**2
    >>> square = Square()
    >>> square.area, vars(square)
    (9, {'area': 9})
    """

    def __init__(self, wrapped: Any) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.name, value)
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of (..., n, n) matrices on and below a diagonal, row by row, as vectors.

    Raises ValueError for a diagonal outside of the matrix.

    >>> rg.distributions.utils.tril_matrix_to_vec(rg.tensor([[1, 2], [3, 4]]))
    tensor([1, 3, 4])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = ops.tril_indices(n, n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Lower triangular (..., n, n) matrices with the elements of vectors, row by row.

    Raises ValueError where no n has as many elements.

    >>> rg.distributions.utils.vec_to_tril_matrix(rg.tensor([1.0, 3.0, 4.0]))
    tensor([[1., 0.],
            [3., 4.]])
    """
    count = vec.shape[-1]
    root = math.isqrt((2 * diag + 1) ** 2 + 8 * count + 4 * diag * (diag + 1))
    n = (root - 2 * diag - 1) // 2
    rows, columns = ops.tril_indices(n, n, diag)
    if len(rows) != count:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower "
            "triangular part of a square D x D matrix."
        )
    made = vec.new_zeros((*vec.shape[:-1], n, n))
    made[..., rows, columns] = vec
    return made
