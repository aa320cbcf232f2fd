"""Linear algebra under the standard's names: the extension `linalg`, and the main part."""

from __future__ import annotations

from typing import Any

from ... import linalg, ops
from ...engine.tensor import Tensor
from ...linalg import (
    cholesky,
    det,
    diagonal,
    eigh,
    eigvalsh,
    inv,
    matrix_norm,
    matrix_power,
    matrix_rank,
    pinv,
    slogdet,
    svd,
    svdvals,
)
from ...ops.tensor.conversion import convert
from .arguments import binary, pair, reduced
from .statistics import sum as total

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve",
    "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip

matmul = binary(ops.matmul, "matmul", "Matrix product.", "tensor(10)")
outer = binary(
    ops.outer,
    "outer",
    "Products of every element of `x1` with every one of `x2`.",
    "tensor([[8, 4],\n            [4, 2]])",
)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Every matrix transposed.

    >>> xp.matrix_transpose(xp.ones((2, 3, 4))).shape
    retrograd.Size([2, 4, 3])
    """
    return x.mT


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """Sums of products over the last and first `axes` axes, or over given pairs of them.

    >>> xp.tensordot(xp.ones((2, 3)), xp.ones((3, 2)), axes=1)
    tensor([[3., 3.],
            [3., 3.]])
    """
    return ops.tensordot(*pair(x1, x2), dims=axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Sum over `axis` of conj(x1) * x2, broadcast over the other axes.

    Raises ValueError where the lengths along `axis` differ.

    >>> xp.vecdot(xp.asarray([1j, 1.0]), xp.asarray([1j, 2.0]))
    tensor(3.+0.j)
    """
    x1, x2 = pair(x1, x2)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(
            f"vecdot(): the vectors along axis {axis} have different lengths: the shapes are "
            f"{list(x1.shape)} and {list(x2.shape)}. One element for all is expanded first: "
            "xp.broadcast_to(x, shape)"
        )
    return convert(
        linalg.vecdot(x1, x2, dim=axis), x1._array.dtype
    )  # PyTorch's: int64 for integers


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Cross products of the vectors of 3 along `axis`.

    >>> xp.linalg.cross(xp.asarray([1, 0, 0]), xp.asarray([0, 1, 0]))
    tensor([0, 0, 1])
    """
    x1, x2 = pair(x1, x2)
    if x1.ndim != x2.ndim:
        x1, x2 = ops.broadcast_tensors(x1, x2)
    return linalg.cross(x1, x2, dim=axis)


def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sum of the diagonal of every matrix.

    >>> xp.linalg.trace(xp.asarray([[1, 2], [3, 4]]))
    tensor(5)
    """
    return total(linalg.diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(
    x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """The norm of vectors along `axis`, or of all elements.

    >>> xp.linalg.vector_norm(xp.asarray([[3.0, 4.0], [6.0, 8.0]]), axis=1)
    tensor([ 5., 10.])
    """

    def norm(x: Tensor, dim: Any, keepdim: bool) -> Tensor:
        return linalg.vector_norm(x, ord, dim, keepdim)

    return reduced(norm, x, axis, keepdims)


def qr(x: Tensor, /, *, mode: str = "reduced") -> Any:
    """Q and R of every matrix, in the shapes that `mode` says: "reduced" or "complete".

    Raises ValueError for another mode.

    >>> xp.linalg.qr(xp.ones((3, 2)), mode="complete").Q.shape
    retrograd.Size([3, 3])
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr(): mode must be 'reduced' or 'complete', not {mode!r}")
    return linalg.qr(x, mode)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The solution of `x1 @ x = x2`: `x2` is a vector if it is 1-D, else matrices.

    Raises LinAlgError for a singular matrix.

    >>> xp.linalg.solve(xp.asarray([[2.0, 0.0], [0.0, 4.0]]), xp.asarray([2.0, 4.0]))
    tensor([1., 1.])
    """
    x1, x2 = pair(x1, x2)
    if x2.ndim == 1:
        return linalg.solve(x1, x2.unsqueeze(-1)).squeeze(-1)
    if x2.ndim == x1.ndim - 1:  # PyTorch would take it for a batch of vectors
        x2 = x2.expand((*x1.shape[:-2], *x2.shape[-2:]))
    return linalg.solve(x1, x2)
