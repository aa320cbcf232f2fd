"""The functions of `torch.sparse`, and its types."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any

import numpy as np

from .... import dtypes
from ....engine.op import camel_case
from ....engine.registry import name_node
from ....engine.tensor import Tensor, new_tensor
from ....ops.activation.softmax import log_softmax as dense_log_softmax
from ....ops.activation.softmax import softmax as dense_softmax
from ....ops.core.arguments import public
from ....ops.core.dims import normalize_dim, normalize_dims
from ....ops.indexing.index import index_select
from ....ops.indexing.segment_reduce import index_reduce
from ....ops.linalg.matrix_products import addmm as dense_addmm
from ....ops.linalg.matrix_products import plus
from ....ops.nn import embedding
from ....ops.tensor.inspection import sparse_coo, sparse_csc, sparse_csr
from ...names.tensor_types import DTYPES, TensorType
from . import rules
from .array import is_sparse
from .factories import sparse_coo_tensor
from .methods import COMPRESSED, check_layout
from .pattern import raveled
from .records import sampled_mm

__all__ = ["dsmm", "spmm"]

REDUCED = ("mean", "amax", "amin")


def mm(mat1: Tensor, mat2: Tensor, reduce: str = "sum") -> Tensor:
    """The product of two matrices, (n, k) with (k, m), of which one or both are sparse.

    It is sparse where both are, else dense; the gradient of a sparse one has its places. For a
    dense `mat2`, `reduce` says what becomes of the products of a row's entries: "sum", "mean",
    "amax" or "amin", and 0 where there are none. Raises RuntimeError for sizes that do not fit, and
    other dtypes. Source: PyTorch's `sparse.mm`.

    >>> rg.sparse.mm(rg.tensor([[0.0, 2.0]]).to_sparse(), rg.tensor([[3.0], [4.0]]))
    tensor([[8.]])
    """
    for name, x in (("mat1", mat1), ("mat2", mat2)):
        if x.ndim != 2:
            raise RuntimeError(
                f"sparse.mm(): {name} must be a matrix, but has shape {list(x.shape)}"
            )
    if reduce == "sum":
        twice = is_sparse(mat1) and is_sparse(mat2)
        return name_node(mat1.mm(mat2), f"Sparse{'SparseMatmul' if twice else 'Addmm'}Backward0")
    if reduce not in REDUCED:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}; of a "
            f"product of matrices it is one of sum, {', '.join(REDUCED)}"
        )
    check_layout(mat1, "mm", "sparse", *COMPRESSED, "sparse_coo")
    if is_sparse(mat2):
        raise RuntimeError(f"mm with reduce={reduce!r} expected a strided mat2: x.to_dense()")
    rules.check_matrices(mat1, mat2)
    rows, columns = map(new_tensor, rules.coalesced(mat1).indices)
    products = rules.stored(mat1).unsqueeze(1) * index_select(mat2, 0, columns)
    none = products.new_zeros(mat1.shape[0], mat2.shape[1])
    return index_reduce(none, 0, rows, products, reduce, include_self=False)


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """A sparse matrix of diagonals, (diagonals, n), by their `offsets` from the main one.

    An element goes to the column of its number; what lies outside of `shape` is left out. layout:
    of coordinates, rows or columns. Raises RuntimeError for offsets that occur twice, are no int64
    or not as many as diagonals, and for other layouts. Source: PyTorch's `sparse.spdiags`.

    >>> rg.sparse.spdiags(rg.tensor([[1.0, 2.0], [3.0, 4.0]]), rg.tensor([0, 1]), (2, 2)).to_dense()
    tensor([[1., 4.],
            [0., 2.]])
    """
    if diagonals.ndim not in (1, 2):
        raise RuntimeError(f"Diagonals must be vector or matrix: shape {list(diagonals.shape)}")
    if offsets.ndim > 1:
        raise RuntimeError(f"Offsets must be scalar or vector: shape {list(offsets.shape)}")
    lines, steps = diagonals.reshape(-1, diagonals.shape[-1]), offsets.reshape(-1)._array
    if len(shape) != 2:
        raise RuntimeError(f"Output shape must be 2d, but is {tuple(shape)}")
    if steps.dtype != np.int64:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {offsets.dtype}")
    if len(lines) != len(steps):
        raise RuntimeError(
            f"Number of diagonals ({len(lines)}) does not match the number of offsets "
            f"({len(steps)})"
        )
    if len(np.unique(steps)) != len(steps):
        raise RuntimeError(f"Offset tensor contains duplicate values: {offsets.tolist()}")
    if layout not in (None, sparse_coo, sparse_csr, sparse_csc):
        raise RuntimeError(
            "Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got "
            f"{layout}: leave it out, and call to_dense()"
        )
    columns = np.arange(lines.shape[1])
    rows = columns - steps[:, None]
    number, column = np.nonzero((rows >= 0) & (rows < shape[0]) & (columns < shape[1]))
    places = new_tensor(np.stack([rows[number, column], column]))
    made = sparse_coo_tensor(places, lines[new_tensor(number), new_tensor(column)], tuple(shape))
    return made if layout in (None, sparse_coo) else made.to_sparse(layout=layout)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """`beta * mat + alpha * (mat1 @ mat2)` for a sparse matrix `mat1` and dense ones.

    >>> rg.sparse.addmm(rg.ones(1, 1), rg.tensor([[0.0, 2.0]]).to_sparse(), rg.ones(2, 1))
    tensor([[3.]])
    """
    made = dense_addmm(mat, mat1, mat2, beta=beta, alpha=alpha)
    return name_node(made, "SparseAddmmBackward0")


def sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` at the places of the sparse matrix `input` alone.

    Source: PyTorch's `sparse.sampled_addmm`; `input` may have coordinates here, too.

    >>> x = rg.eye(2).to_sparse_csr()
    >>> rg.sparse.sampled_addmm(x, rg.ones(2, 3), rg.ones(3, 2)).values()
    tensor([4., 4.])
    """
    check_layout(input, "sampled_addmm", "sparse", *COMPRESSED, "sparse_coo")
    if (mat1.shape[0], mat2.shape[-1]) != tuple(input.shape) or mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"sampled_addmm: shapes {list(mat1.shape)} and {list(mat2.shape)} cannot be multiplied "
            f"to {list(input.shape)}"
        )
    pattern = rules.coalesced(input)
    found = sampled_mm(mat1, mat2.t(), pattern=pattern)
    return rules.sparse_of(plus(rules.stored(input), found, beta, alpha), pattern)


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of a sparse tensor: of all values, dense; or over dimensions, sparse if some is left.

    Source: PyTorch's `sparse.sum`.

    >>> rg.sparse.sum(rg.eye(2).to_sparse()), rg.sparse.sum(rg.eye(2).to_sparse(), 0).values()
    (tensor(2.), tensor([1., 1.]))
    """
    input = input if dtype is None else input.to(dtype)
    if dim is None:
        return rules.sum_all(input)
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    found = rules.sum_dim(input, dim=normalize_dims(dims, input.ndim), keepdim=False)
    return name_node(found, "SparseSumBackward0")


def normalized(
    input: Tensor, dim: int, dtype: Any, function: Callable[..., Tensor], share: Callable[..., Any]
) -> Tensor:
    """The entries of a sparse tensor by those along `dim`: a softmax, or its logarithm.

    function: that of a dense tensor; share: what an entry less the largest, its exponential and the
    sum of these give.
    """
    name = function.__name__
    check_layout(input, name, "sparse", "sparse_coo", *COMPRESSED)
    values = rules.stored(input if dtype is None else input.to(dtype))
    if not values.is_floating_point():
        raise RuntimeError(f"{name}(): expected a floating dtype, got {values.dtype}: x.float()")
    pattern, dim = rules.coalesced(input), normalize_dim(dim, input.ndim)
    if dim >= pattern.dims:
        return rules.sparse_of(function(values, dim - pattern.dims + 1), pattern)
    left = [d for d in range(pattern.dims) if d != dim]
    keys = raveled(pattern.indices[left], tuple(pattern.shape[d] for d in left))
    found, group = np.unique(keys, return_inverse=True)
    group = group.reshape(-1)
    flat = values.reshape(pattern.count, math.prod(pattern.shape[pattern.dims :]))
    top = np.full((len(found), flat.shape[1]), -np.inf, flat._array.dtype)
    np.maximum.at(top, group, flat._array)
    less = flat - new_tensor(np.where(np.isfinite(top), top, 0)[group])
    powers, which = less.exp(), new_tensor(group)
    sums = embedding._sum_rows(powers, which, rows=len(found), skip=None, by_frequency=False)
    shares = share(less, powers, index_select(sums, 0, which))
    made = rules.sparse_of(shares.reshape(values.shape), pattern)
    return name_node(made, f"Sparse{camel_case(name)}Backward0")


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Exponentials over their sum along `dim`, of entries alone: what is not stored counts as -inf.

    Raises RuntimeError for integers. Source: PyTorch's `sparse.softmax`.

    >>> x = rg.tensor([[1.0, 1.0, 0.0]]).to_sparse()
    >>> rg.sparse.softmax(x, 1).to_dense()
    tensor([[0.5000, 0.5000, 0.0000]])
    """
    return normalized(input, dim, dtype, dense_softmax, lambda less, powers, sums: powers / sums)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`.

    >>> x = rg.tensor([[1.0, 1.0, 0.0]]).to_sparse()
    >>> rg.sparse.log_softmax(x, 1).values()
    tensor([-0.6931, -0.6931])
    """
    return normalized(
        input, dim, dtype, dense_log_softmax, lambda less, powers, sums: less - sums.log()
    )


@public()
def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """`mm` of a sparse matrix, under an older name.

    >>> rg.spmm(rg.eye(2).to_sparse(), rg.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return mm(input, mat2)


dsmm = spmm


def as_sparse_gradcheck(gradcheck: Callable[..., bool]) -> Callable[..., bool]:
    """`gradcheck` itself, which takes functions of sparse tensors and such that give them.

    >>> check = rg.sparse.as_sparse_gradcheck(rg.autograd.gradcheck)
    >>> x = rg.eye(2, dtype=rg.float64).to_sparse_csr().requires_grad_()
    >>> check(rg.Tensor.to_dense, x, masked=True)
    True
    """
    return gradcheck


class check_sparse_tensor_invariants(ContextDecorator):  # noqa: N801 (PyTorch's name)
    """PyTorch's switch for the checks of indices, which are always made here: it stays on.

    A context, a decorator, or a namespace of `enable`, `disable` and `is_enabled`.

    >>> with rg.sparse.check_sparse_tensor_invariants(False):
    ...     rg.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    def __init__(self, enable: bool = True) -> None:
        self.wanted = enable

    def __enter__(self) -> None:
        """Change nothing."""

    def __exit__(self, *exc: object) -> None:
        """Change nothing."""

    @staticmethod
    def enable() -> None:
        """Do nothing: the checks are always made."""

    @staticmethod
    def disable() -> None:
        """Change nothing: without them, products would read memory that is not theirs."""

    @staticmethod
    def is_enabled() -> bool:
        """True."""
        return True


class SparseType(TensorType):
    """Sparse tensors of one dtype: `sparse_coo_tensor` by its old name, or empty ones of sizes.

    >>> rg.sparse.FloatTensor(rg.tensor([[0, 1]]), rg.tensor([2.0, 3.0])).to_dense()
    tensor([2., 3.])
    """

    def __call__(self, *data: Any, device: Any = None) -> Tensor:
        if all(isinstance(n, int) for n in data):
            return sparse_coo_tensor(data or (0,), dtype=self.dtype, device=device)
        return sparse_coo_tensor(*data, device=device)

    def __instancecheck__(self, instance: object) -> bool:
        return is_sparse(instance) and super().__instancecheck__(instance)

    def __repr__(self) -> str:
        return super().__repr__().replace(f".{self.__name__}", f".sparse.{self.__name__}")

    def __reduce__(self) -> str:
        return f"sparse.{self.__name__}"


TYPES = {made.__name__: made for made in map(SparseType, map(dtypes.by_name, DTYPES[1:]))}
