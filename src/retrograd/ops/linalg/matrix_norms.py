"""Norms of matrices and the condition number, composed of vector norms and singular values."""

from __future__ import annotations

import math
from typing import Any

from ...engine.dispatch import as_non_view
from ...engine.registry import name_node
from ...engine.tensor import Tensor
from ..core.arguments import public
from ..core.dims import normalize_dims
from ..elementwise.clamp_where import where
from ..reduction.extrema import amax, amin
from ..reduction.sum_prod import converted
from ..reduction.sum_prod import sum as sum_over
from ..reduction.vector_norm import vector_norm
from .checks import check_floating, check_matrix, check_square
from .solve import inv_ex
from .svd import svdvals

ORDERS = (1, -1, 2, -2, math.inf, -math.inf)


@public(out=True)
def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """A norm of the matrices in the two dimensions `dim`; real.

    `ord` is "fro" (root of the sum of squares), "nuc" (sum of singular values), 2 and -2 (largest
    and smallest singular value), 1 and -1 (largest and smallest column sum of moduli), inf and -inf
    (row sums). Where several attain a largest one, the gradient is shared among them. Raises
    RuntimeError for other orders, integers, and one dimension named twice.

    >>> A = rg.tensor([[3.0, 0.0], [0.0, 4.0]])
    >>> rg.linalg.matrix_norm(A), rg.linalg.matrix_norm(A, 1)
    (tensor(5.), tensor(4.))
    """
    dims = check_matrix_norm(A, ord, dim)
    if ord == "fro":
        return vector_norm(A, 2, dims, keepdim, dtype=dtype)
    A = converted(A, dtype)
    if ord in ("nuc", 2, -2):
        moved = A if dims == (A.ndim - 2, A.ndim - 1) else A.movedim(dims, (-2, -1))
        values = svdvals(moved)
        reduce: Any = {"nuc": sum_over, 2: largest, -2: amin}[ord]
        found = reduce(values, -1)
        return keep(found, dims) if keepdim else found
    rows, columns = dims
    if abs(ord) == 1:
        rows, columns = columns, rows  # the sums are over what was the first
    sums = vector_norm(A, 1, columns, keepdim)
    place = rows if keepdim or rows < columns else rows - 1
    return (largest if ord > 0 else amin)(sums, place, keepdim)


def largest(norms: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    """The largest of `norms` along `dim`; 0, the norm of a matrix without elements, of none."""
    return (amax if norms.shape[dim] else sum_over)(norms, dim, keepdim)


def check_matrix_norm(A: Tensor, ord: Any, dim: Any) -> tuple[int, int]:
    """Both dimensions, counted from the front; raises for what `matrix_norm` does not take."""
    check_floating(A, "linalg.matrix_norm")
    if A.ndim < 2:
        raise RuntimeError(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions. Got shape "
            f"{list(A.shape)}; linalg.vector_norm takes any"
        )
    if not isinstance(dim, (tuple, list)) or len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim}")
    first, second = normalize_dims(dim, A.ndim)
    if ord not in ("fro", "nuc", *ORDERS):
        raise RuntimeError(
            f"linalg.matrix_norm: Order {ord} not supported. It is 'fro', 'nuc', or one of 1, -1, "
            "2, -2, inf, -inf"
        )
    return first, second


def keep(x: Tensor, dims: tuple[int, int]) -> Tensor:
    """Give `x` dimensions of size 1 where two were."""
    for dim in sorted(dims):
        x = x.unsqueeze(dim)
    return x


@public(out=True)
def norm(
    A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """`vector_norm` or `matrix_norm`, by the number of dimensions.

    Without `ord`, the root of the sum of squares over `dim`, by default of all elements. With it, a
    vector's norm where `dim` is one dimension or A has one, and a matrix's where there are two.
    Raises RuntimeError for other numbers of dimensions.

    >>> rg.linalg.norm(rg.tensor([[3.0, 0.0], [0.0, 4.0]]), "nuc")
    tensor(7.)
    """
    count = A.ndim if dim is None else len(dim) if isinstance(dim, (tuple, list)) else 1
    if dim is not None and count not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}"
        )
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if count not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{A.ndim}D."
        )
    if count == 2:
        return matrix_norm(A, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise RuntimeError(
            f"linalg.norm: Order {ord} not supported for vectors. Give a number, or two dimensions"
        )
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)


@public(out=True)
def cond(A: Tensor, p: Any = None) -> Tensor:
    """The condition number: the norm of A times that of its inverse; real, inf if singular.

    `p` is an order of `matrix_norm`; None and 2 give the ratio of the largest singular value to the
    smallest, for matrices of any shape, -2 its reciprocal. The other orders need square matrices.
    Raises RuntimeError for a matrix that is not square there, and for what is no such order.

    >>> rg.linalg.cond(rg.tensor([[3.0, 0.0], [0.0, 4.0]]), 1)
    tensor(1.3333)
    """
    check_matrix(A, "linalg.cond")
    if p is not None and p not in ("fro", "nuc", *ORDERS):
        raise RuntimeError(
            f"linalg.cond got an invalid norm type: {p}. It is an order of linalg.matrix_norm"
        )
    if 0 in A.shape:
        real = A.real if A.dtype.is_complex else A
        return real.new_zeros(tuple(A.shape[:-2]))
    if p in (None, 2, -2):
        values = svdvals(A)
        first, last = values[..., :1], values[..., -1:]
        return as_non_view((last / first if p == -2 else first / last).squeeze(-1))
    check_square(A, f"linalg.cond(ord={p})")
    inverse, info = inv_ex(A)
    product = matrix_norm(A, p) * matrix_norm(inverse, p)
    found = where(info != 0, math.inf, product)
    return name_node(found, "MulBackward0" if p == "nuc" else "NanToNumBackward0")
