"""Methods of sparse tensors, and those that make dense ones sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....engine.registry import name_node
from ....engine.tensor import Tensor, method, new_tensor
from .array import Sparse, is_sparse, refused
from .pattern import COO, Form, Pattern
from .records import entries, picked
from .rules import UNSORTED, chosen, coalesced, sparse_of, stored, stored_at
from .rules import to_dense as dense_of

__all__: list[str] = []

COMPRESSED = ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
NAMES = {
    "strided": "Strided",
    "sparse_coo": "Sparse",
    **{name: f"Sparse{name.removeprefix('sparse_').capitalize()}" for name in COMPRESSED},
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


def index_tensor(array: Any, dtype: Any = np.int64) -> Tensor:
    """Indices for users, who may write them."""
    return new_tensor(np.array(array, dtype, order="C"))


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

    Those of blocks are (n, rows, columns, ...); batches of matrices come before them.

    >>> rg.eye(2).to_sparse().values()
    tensor([1., 1.])
    """
    pattern = check_layout(self, "values", "sparse", "sparse_coo", *COMPRESSED)
    if not pattern.coalesced:
        raise RuntimeError(UNCOALESCED.format("values"))
    if pattern.form == COO:
        return name_node(stored(self).clone(), "ValuesBackward0")
    _, across, order = pattern.compressed
    shape = (*across.shape, *(pattern.form.block or ()), *pattern.shape[pattern.dims :])
    return name_node(chosen(self, order).reshape(shape), "ValuesBackward0")


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
    """The number of entries, of each matrix of a batch; that of blocks."""
    if not is_sparse(self):
        raise NotImplementedError("Could not run '_nnz' with arguments from the 'CPU' backend")
    pattern = self._array.pattern
    return pattern.count if pattern.form == COO else pattern.compressed[1].shape[-1]  # type: ignore[no-any-return]


def index_table(self: Tensor, name: str, said: str, *layouts: str) -> Tensor:
    """One of the two tables of indices of compressed matrices."""
    pattern = check_layout(self, name, f"sparse {said} compressed", *layouts)
    return index_tensor(
        pattern.compressed[name in ("col_indices", "row_indices")], pattern.form.index
    )


def crow_indices(self: Tensor) -> Tensor:
    """Where each row of a matrix by rows begins in its values, and the last ends: (rows + 1).

    Of blocks, rows are those of blocks; of batches, each matrix has its own.

    >>> rg.eye(2).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    return index_table(self, "crow_indices", "row", "sparse_csr", "sparse_bsr")


def col_indices(self: Tensor) -> Tensor:
    """The column of each value, or block, of a matrix by rows.

    >>> rg.eye(2).to_sparse_csr().col_indices()
    tensor([0, 1])
    """
    return index_table(self, "col_indices", "row", "sparse_csr", "sparse_bsr")


def ccol_indices(self: Tensor) -> Tensor:
    """Where each column of a matrix by columns begins in its values: (columns + 1).

    >>> rg.eye(2).to_sparse_csc().ccol_indices()
    tensor([0, 1, 2])
    """
    return index_table(self, "ccol_indices", "column", "sparse_csc", "sparse_bsc")


def row_indices(self: Tensor) -> Tensor:
    """The row of each value, or block, of a matrix by columns.

    >>> rg.eye(2).to_sparse_csc().row_indices()
    tensor([0, 1])
    """
    return index_table(self, "row_indices", "column", "sparse_csc", "sparse_bsc")


def coalesce(self: Tensor) -> Tensor:
    """The sparse tensor with one entry for each place, sorted; itself where it is so already.

    >>> rg.sparse_coo_tensor([[1, 1]], [2.0, 3.0]).coalesce().values()
    tensor([5.])
    """
    pattern = check_layout(self, "coalesce", "sparse coordinate", "sparse_coo")
    if pattern.coalesced:
        return self
    return name_node(sparse_of(stored(self), coalesced(self)), "CoalesceBackward0")


def is_coalesced(self: Tensor) -> bool:
    """Whether there is one entry for each place, and they are sorted.

    >>> rg.sparse_coo_tensor([[1, 1]], [2.0, 3.0]).is_coalesced()
    False
    """
    return check_layout(self, "is_coalesced", "sparse coordinate", "sparse_coo").coalesced


def sparse_dim(self: Tensor) -> int:
    """The number of sparse dimensions, 2 of compressed matrices; 0 of a dense tensor."""
    if not is_sparse(self):
        return 0
    pattern = self._array.pattern
    return pattern.dims - pattern.form.batch  # type: ignore[no-any-return]


def dense_dim(self: Tensor) -> int:
    """The number of dimensions that are not sparse: those of one entry."""
    return self.ndim - (self._array.pattern.dims if is_sparse(self) else 0)


def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    """Say whether places are sorted and differ; RuntimeError where that is said and is not so."""
    pattern = check_layout(self, "_coalesced_", "sparse coordinate", "sparse_coo")
    if coalesced and (np.diff(pattern.keys) <= 0).any():
        raise RuntimeError(f"{UNSORTED}. Write x = x.coalesce()")
    self._array = Sparse(self._array.values, Pattern(pattern.indices, pattern.shape, coalesced))
    return self


def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The dense tensor; a dense one itself, or with another dtype if one is given.

    The gradient of a sparse tensor has its places, whatever `masked_grad` says. Raises RuntimeError
    for a sparse tensor with `dtype`.

    >>> rg.ones(1).to_dense(rg.float64)
    tensor([1.], dtype=retrograd.float64)
    """
    if not is_sparse(self):
        return self if dtype is None else self.to(dtype)
    if dtype is not None:
        name = self._array.layout.removesuffix("_coo")
        raise RuntimeError(
            f"dtype argument is not supported by {name}_to_dense. Convert after: "
            "x.to_dense().to(dtype)"
        )
    return dense_of(self)


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
    if name == "strided":
        return to_dense(self)
    if name not in NAMES:
        raise refused("to_sparse", f"layout={layout!r}")
    block = checked_block(self, name, blocksize)
    if is_sparse(self):
        return as_form(self, name, block, sparse_dim)
    dims = self.ndim - (dense_dim or 0) if sparse_dim is None else sparse_dim
    if not min(self.ndim, 1) <= dims <= self.ndim:
        raise RuntimeError(f"sparse_dim must be within [1, {self.ndim}], but got {dims}")
    if name != "sparse_coo" and dims < 2:
        raise RuntimeError(f"to_{name}() takes matrices, but the tensor has {dims} dimensions")
    form = COO if name == "sparse_coo" else Form(name, dims - 2, block)
    there = self._array != 0
    there = there.any(tuple(range(dims, self.ndim))) if dims < self.ndim else there
    places = np.stack(np.nonzero(there)) if dims else np.zeros((0, int(there)), np.int64)
    pattern = Pattern(places, self.shape, True).laid_out(form)
    if form.batch:
        _ = pattern.compressed  # raises where matrices of the batch differ
    whole = sparse_of(picked(self, pattern=pattern), pattern)
    return name_node(whole, f"ToSparseBackward{int(sparse_dim is None)}")


def checked_block(x: Tensor, name: str, blocksize: Any) -> tuple[int, int] | None:
    """The shape of blocks for `to_sparse`; RuntimeError for one that does not fit."""
    blocksize = (blocksize, blocksize) if isinstance(blocksize, int) else blocksize
    if blocksize is not None and len(blocksize) != 2:
        raise RuntimeError(
            f"to_sparse: blocksize needs to be a tuple of size 2, but got {len(blocksize)}"
        )
    if (blocksize is None) == (name in ("sparse_bsr", "sparse_bsc")):
        wanted = "needs a blocksize" if blocksize is None else "takes no blocksize"
        raise RuntimeError(f"to_sparse: conversion to {NAMES[name]} {wanted}")
    if blocksize is None:
        return None
    n, m = map(int, blocksize)
    first = x._array.pattern.form.batch if is_sparse(x) else 0
    sizes = x.shape[first : first + 2] if is_sparse(x) or x.ndim == 2 else x.shape[-2:]
    if min(n, m) < 1 or len(sizes) != 2 or sizes[0] % n or sizes[1] % m:
        raise RuntimeError(
            f"to_{name}: tensor sparse size ({','.join(map(str, sizes))}) must be divisible by "
            f"given blocksize ({n},{m})"
        )
    return n, m


def as_form(x: Tensor, name: str, block: tuple[int, int] | None, dims: int | None) -> Tensor:
    """A sparse tensor in another form; RuntimeError for other sparse dimensions."""
    pattern = coalesced(x)
    if dims is not None and dims != sparse_dim(x):
        raise RuntimeError(
            "to_sparse: conversion from Sparse to Sparse with sparse_dim argument "
            f"!=self.sparse_dim() is not supported: {dims} for {sparse_dim(x)}"
        )
    if name == pattern.form.layout and block == pattern.form.block:
        return x
    if name == "sparse_coo":
        return sparse_of(stored(x), pattern.laid_out(COO))
    if sparse_dim(x) != 2:
        raise RuntimeError(
            f"to_{name}: conversion from Sparse to {NAMES[name]} for input tensors with "
            "sparse_dim()!=2 is not supported"
        )
    laid_out = pattern.laid_out(pattern.form._replace(layout=name, block=block))
    return sparse_of(entries(x, pattern=laid_out), laid_out)


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


def to_sparse_bsr(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """`to_sparse` of a matrix by rows of blocks of the shape `blocksize`.

    >>> x = rg.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]]).to_sparse_bsr((2, 2))
    >>> x.values()
    tensor([[[1., 0.],
             [0., 2.]]])
    """
    return to_sparse(self, layout="sparse_bsr", blocksize=blocksize, dense_dim=dense_dim)


def to_sparse_bsc(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """`to_sparse` of a matrix by columns of blocks.

    >>> rg.eye(2).to_sparse_bsc((2, 1)).row_indices()
    tensor([0, 0])
    """
    return to_sparse(self, layout="sparse_bsc", blocksize=blocksize, dense_dim=dense_dim)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The values at the places of the sparse tensor `mask`, of the same shape.

    >>> rg.tensor([1.0, 2.0]).sparse_mask(rg.tensor([0.0, 1.0]).to_sparse()).values()
    tensor([2.])
    """
    check_layout(mask, "sparse_mask", "sparse", "sparse_coo", *COMPRESSED)
    if self.shape != mask.shape:
        raise RuntimeError(
            "sparse_mask(): operands have incompatible sizes; self has size "
            f"{list(self.shape)} but mask has size {list(mask.shape)}"
        )
    made = sparse_of(stored_at(self, coalesced(mask)), coalesced(mask))
    return name_node(made, "SparseMaskBackward0")


METHODS: tuple[Any, ...] = (
    *(indices, values, _indices, _values, _nnz, crow_indices, col_indices, ccol_indices),
    *(row_indices, coalesce, is_coalesced, sparse_dim, dense_dim, to_dense, to_sparse),
    *(to_sparse_coo, to_sparse_csr, to_sparse_csc, to_sparse_bsr, to_sparse_bsc, sparse_mask),
    _coalesced_,
)
for function in METHODS:
    method(function)
