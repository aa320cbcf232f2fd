"""Methods of sparse tensors, and those that make dense ones sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.registry import called
from ...engine.tensor import Tensor, method, new_tensor
from .array import is_sparse, refused
from .pattern import Pattern
from .records import picked
from .rules import coalesced, made, stored, stored_at
from .rules import to_dense as dense_of

__all__: list[str] = []

NAMES = {
    "strided": "Strided",
    "sparse_coo": "Sparse",
    "sparse_csr": "SparseCsr",
    "sparse_csc": "SparseCsc",
}
UNCOALESCED = "Cannot get {} on an uncoalesced tensor, please call .coalesce() first"


def check_layout(x: Tensor, name: str, said: str, *layouts: str) -> Pattern:
    """The pattern of a tensor; RuntimeError for one in another layout."""
    found = x.layout.name
    if found not in layouts:
        raise RuntimeError(
            f"{name} expected {said} tensor layout but got {NAMES[found]}. Convert it: "
            f"x.to_{layouts[0]}()"
        )
    return x._array.pattern  # type: ignore[no-any-return]


def index_tensor(array: Any) -> Tensor:
    """Indices for users, who may write them."""
    return new_tensor(np.array(array, np.int64))


def indices(self: Tensor) -> Tensor:
    """The places of the entries (D, n) of a coalesced sparse tensor, a copy.

    >>> rg.eye(2).to_sparse().indices()
    tensor([[0, 1],
            [0, 1]])
    """
    pattern = check_layout(self, "indices", "sparse coordinate", "sparse_coo")
    if not pattern.coalesced:
        raise RuntimeError(UNCOALESCED.format("indices"))
    return index_tensor(pattern.indices)


def values(self: Tensor) -> Tensor:
    """The values (n, ...) of a coalesced sparse tensor, a copy with their history.

    >>> rg.eye(2).to_sparse().values()
    tensor([1., 1.])
    """
    pattern = check_layout(self, "values", "sparse", "sparse_coo", "sparse_csr", "sparse_csc")
    if not pattern.coalesced:
        raise RuntimeError(UNCOALESCED.format("values"))
    return stored(self.t() if pattern.layout == "sparse_csc" else self).clone()


def _indices(self: Tensor) -> Tensor:
    """The places of the entries, as they are."""
    if not is_sparse(self):
        raise NotImplementedError("Could not run '_indices' with arguments from the 'CPU' backend")
    return index_tensor(self._array.pattern.indices)


def _values(self: Tensor) -> Tensor:
    """The values of the entries, as they are, without history."""
    if not is_sparse(self):
        raise NotImplementedError("Could not run '_values' with arguments from the 'CPU' backend")
    return new_tensor(self._array.values.copy())


def _nnz(self: Tensor) -> int:
    """The number of entries."""
    if not is_sparse(self):
        raise NotImplementedError("Could not run '_nnz' with arguments from the 'CPU' backend")
    return self._array.pattern.count  # type: ignore[no-any-return]


def crow_indices(self: Tensor) -> Tensor:
    """Where each row of a matrix by rows begins in its values, and the last ends: (rows + 1).

    >>> rg.eye(2).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    said = "sparse row compressed"
    return index_tensor(check_layout(self, "crow_indices", said, "sparse_csr").rows[0])


def col_indices(self: Tensor) -> Tensor:
    """The column of each value of a matrix by rows.

    >>> rg.eye(2).to_sparse_csr().col_indices()
    tensor([0, 1])
    """
    said = "sparse row compressed"
    return index_tensor(check_layout(self, "col_indices", said, "sparse_csr").indices[1])


def ccol_indices(self: Tensor) -> Tensor:
    """Where each column of a matrix by columns begins in its values: (columns + 1).

    >>> rg.eye(2).to_sparse_csc().ccol_indices()
    tensor([0, 1, 2])
    """
    check_layout(self, "ccol_indices", "sparse column compressed", "sparse_csc")
    return self.t().crow_indices()


def row_indices(self: Tensor) -> Tensor:
    """The row of each value of a matrix by columns.

    >>> rg.eye(2).to_sparse_csc().row_indices()
    tensor([0, 1])
    """
    check_layout(self, "row_indices", "sparse column compressed", "sparse_csc")
    return self.t().col_indices()


def coalesce(self: Tensor) -> Tensor:
    """The sparse tensor with one entry for each place, sorted; itself where it is so already.

    >>> rg.sparse_coo_tensor([[1, 1]], [2.0, 3.0]).coalesce().values()
    tensor([5.])
    """
    pattern = check_layout(self, "coalesce", "sparse coordinate", "sparse_coo")
    return self if pattern.coalesced else made(stored(self), coalesced(self))


def is_coalesced(self: Tensor) -> bool:
    """Whether there is one entry for each place, and they are sorted.

    >>> rg.sparse_coo_tensor([[1, 1]], [2.0, 3.0]).is_coalesced()
    False
    """
    return check_layout(self, "is_coalesced", "sparse coordinate", "sparse_coo").coalesced


def sparse_dim(self: Tensor) -> int:
    """The number of sparse dimensions, which come first; 0 of a dense tensor."""
    return self._array.pattern.dims if is_sparse(self) else 0


def dense_dim(self: Tensor) -> int:
    """The number of dimensions that are not sparse."""
    return self.ndim - sparse_dim(self)


def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The dense tensor, with another dtype if one is given; a dense one itself.

    The gradient of a sparse tensor has its places, whatever `masked_grad` says.

    >>> rg.ones(1).to_dense(rg.float64)
    tensor([1.], dtype=retrograd.float64)
    """
    found = dense_of(self) if is_sparse(self) else self
    return found if dtype is None else found.to(dtype)


def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """The sparse tensor of what is not 0, in the layout `sparse_coo` if no other one is named.

    The first `sparse_dim` dimensions are sparse, by default all but the last `dense_dim`. The
    gradient of a dense tensor is dense. Source: PyTorch's `Tensor.to_sparse`.

    >>> rg.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse()
    tensor(indices=tensor([[0],
                           [1]]),
           values=tensor([2.]),
           size=(2, 2), nnz=1, layout=retrograd.sparse_coo)
    """
    name = "sparse_coo" if layout is None else getattr(layout, "name", layout)
    if name not in NAMES or name == "strided" or blocksize is not None:
        raise refused("to_sparse", f"layout={layout!r} and blocksize={blocksize!r}")
    if name != "sparse_coo" and self.ndim != 2:
        raise RuntimeError(f"to_{name}() takes matrices, but the tensor has {self.ndim} dimensions")
    if is_sparse(self):
        return made(stored(self), coalesced(self).laid_out(name))
    dims = self.ndim - (dense_dim or 0) if sparse_dim is None else sparse_dim
    if not 0 < dims <= self.ndim:
        raise RuntimeError(f"sparse_dim must be within [1, {self.ndim}], but got {dims}")
    there = self._array != 0
    there = there.any(tuple(range(dims, self.ndim))) if dims < self.ndim else there
    pattern = Pattern(np.stack(np.nonzero(there)), self.shape, True, name)
    whole = made(picked(self, pattern=pattern), pattern)
    return called(whole, f"ToSparseBackward{int(sparse_dim is None)}")


def to_sparse_coo(self: Tensor) -> Tensor:
    """`to_sparse` by coordinates.

    >>> rg.eye(2).to_sparse_csr().to_sparse_coo().layout
    retrograd.sparse_coo
    """
    return to_sparse(self)


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """`to_sparse` of a matrix by rows.

    >>> rg.eye(2).to_sparse_csr()
    tensor(crow_indices=tensor([0, 1, 2]),
           col_indices=tensor([0, 1]),
           values=tensor([1., 1.]), size=(2, 2), nnz=2,
           layout=retrograd.sparse_csr)
    """
    return to_sparse(self, layout="sparse_csr", dense_dim=dense_dim)


def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """`to_sparse` of a matrix by columns.

    >>> rg.eye(2).to_sparse_csc().layout
    retrograd.sparse_csc
    """
    return to_sparse(self, layout="sparse_csc", dense_dim=dense_dim)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The values at the places of the sparse tensor `mask`, of the same shape.

    >>> rg.tensor([1.0, 2.0]).sparse_mask(rg.tensor([0.0, 1.0]).to_sparse()).values()
    tensor([2.])
    """
    check_layout(mask, "sparse_mask", "sparse", "sparse_coo", "sparse_csr", "sparse_csc")
    if self.shape != mask.shape:
        raise RuntimeError(
            "sparse_mask(): operands have incompatible sizes; self has size "
            f"{list(self.shape)} but mask has size {list(mask.shape)}"
        )
    return made(stored_at(self, coalesced(mask)), coalesced(mask))


METHODS: tuple[Any, ...] = (
    *(indices, values, _indices, _values, _nnz, crow_indices, col_indices, ccol_indices),
    *(row_indices, coalesce, is_coalesced, sparse_dim, dense_dim, to_dense, to_sparse),
    *(to_sparse_coo, to_sparse_csr, to_sparse_csc, sparse_mask),
)
for function in METHODS:
    method(function)
