"""Sparse tensors from indices and values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.tensor import Tensor, set_requires_grad
from ..creation.factories import shape_of, zeros
from ..creation.from_data import check_device, tensor
from .pattern import Pattern
from .rules import made, regrouped

__all__ = ["sparse_coo_tensor", "sparse_csc_tensor", "sparse_csr_tensor"]

NNZ = (
    "indices and values must have same nnz, but got nnz from indices: {}, nnz from values: {}. "
    "Give a value for each column of indices"
)


def whole(data: Any, what: str) -> Any:
    """Indices as an array of int64; RuntimeError for what are no whole numbers."""
    array = data._array if isinstance(data, Tensor) else np.asarray(data)
    kind = array.dtype.kind
    if array.size and (kind not in "iuf" or (kind == "f" and (np.floor(array) != array).any())):
        raise RuntimeError(
            f"{what} must be an int64 tensor, but it is of {array.dtype}: {what}.long()"
        )
    return array.astype(np.int64)


def entries_of(values: Any, dtype: Any) -> Tensor:
    """Values as a tensor, with its history if it is one."""
    if isinstance(values, Tensor):
        return values if dtype is None else values.to(dtype)
    return tensor(values, dtype=dtype)


def as_leaf(found: Tensor, requires_grad: bool) -> Tensor:
    """`found`, which requires grad if that is wanted."""
    if requires_grad:
        set_requires_grad(found, True)
    return found


def check_places(indices: Any, shape: tuple[int, ...]) -> None:
    """Raise RuntimeError unless all indices are within a shape."""
    for dim, (index, size) in enumerate(zip(indices, shape, strict=False)):
        if index.size and index.min() < 0:
            raise RuntimeError(f"found negative index {index.min()} for dim {dim}")
        if index.size and index.max() >= size:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {size} but found index "
                f"{index.max()}"
            )


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A sparse tensor with `values` (n, ...) at the places `indices` (D, n), one to a column.

    The indices are of the first D dimensions; a number is the value of one place. `size` is the
    whole shape, by default the smallest that holds them; alone, by name or as first argument,
    it gives a tensor without entries. Values at one place add up; `is_coalesced` says that
    places are sorted and differ. Gradients go to `values`, or to the tensor itself if it
    `requires_grad`. Values are copied; indices are always checked. Raises RuntimeError for
    sizes that do not fit, and indices outside. Source: PyTorch's `sparse_coo_tensor`.

    >>> x = rg.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> x.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    check_device(device)
    if values is None:
        if indices is not None and size is not None:
            raise RuntimeError("Could not infer dtype of NoneType: indices without values")
        shape = shape_of((indices if size is None else size,), "sparse_coo_tensor")
        places = np.zeros((len(shape), 0), np.int64)
        return as_leaf(made(zeros(0, dtype=dtype), Pattern(places, shape, True)), requires_grad)
    places, entries = whole(indices, "indices"), entries_of(values, dtype)
    if places.ndim != 2 or not len(places):
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    entries = entries if entries.ndim else entries.reshape(1)
    count, inner = places.shape[1], entries.shape[1:]
    if len(entries) != count:
        raise RuntimeError(NNZ.format(count, len(entries)))
    if size is None:
        if not count and len(places):
            outer = (0,) * len(places)
        else:
            outer = tuple([int(index.max()) + 1 for index in places])
        shape = (*outer, *inner)
    else:
        shape = shape_of((size,), "sparse_coo_tensor")
    dims = len(places)
    if len(shape) != dims + len(inner):
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, "
            f"sparse_dim = {dims}, dense_dim = {len(inner)}"
        )
    if shape[dims:] != tuple(inner):
        raise RuntimeError(
            f"values of shape {list(entries.shape)} are no entries of a tensor of size "
            f"{list(shape)}: expected {[count, *shape[dims:]]}"
        )
    check_places(places, shape)
    pattern = Pattern(places, shape, bool(is_coalesced))
    if is_coalesced and (np.diff(pattern.keys) <= 0).any():
        raise RuntimeError(
            "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor: some "
            "are not sorted, or there twice. Write sparse_coo_tensor(...).coalesce()"
        )
    return as_leaf(made(entries, pattern), requires_grad)


def compressed(starts: Any, plain: Any, values: Any, size: Any, names: list[str]) -> Pattern:
    """The pattern of a matrix by rows: where each begins in `plain`, the columns of the values."""
    counts, inner = whole(starts, names[0]), whole(plain, names[1])
    if counts.ndim != 1 or inner.ndim != 1 or values.ndim != 1:
        raise RuntimeError(
            f"{names[0]}, {names[1]} and values must be vectors, for there are no batches: of "
            f"shapes {list(counts.shape)}, {list(inner.shape)}, {list(values.shape)}"
        )
    steps = np.diff(counts)
    if not counts.size or counts[0] != 0 or counts[-1] != len(inner) or (steps < 0).any():
        raise RuntimeError(
            f"`{names[0]}[..., 0] == 0`, `{names[0]}[..., -1] == nnz`, rising, is not satisfied: "
            f"{counts.tolist()} for {len(inner)} {names[1]}"
        )
    if len(values) != len(inner):
        raise RuntimeError(NNZ.format(len(inner), len(values)))
    rows = len(counts) - 1
    shape = (rows, int(inner.max(initial=-1)) + 1) if size is None else size
    if len(shape) != 2 or shape[0] != rows:
        raise RuntimeError(
            f"{names[0]}.shape[-1] must be equal to the number of compressed dimensions plus one, "
            f"but it is {rows + 1} for {shape[0]}"
        )
    if inner.size and (inner.min() < 0 or inner.max() >= shape[1]):
        raise RuntimeError(f"`0 <= {names[1]} < {names[2]}` is not satisfied.")
    return Pattern(np.stack([np.repeat(np.arange(rows), steps), inner]), shape)


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix (n, m) by rows: row i has `values[a:b]` in the columns `col_indices[a:b]`.

    `a, b` are `crow_indices[i], crow_indices[i + 1]`. Without `size`, m is the smallest that holds
    the columns. Columns are sorted, and those named twice added up. Raises RuntimeError for sizes
    that do not fit, and indices outside. Source: PyTorch's `sparse_csr_tensor`.

    >>> rg.sparse_csr_tensor([0, 1, 2], [2, 0], [3.0, 4.0]).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    check_device(device)
    names, entries = ["crow_indices", "col_indices", "ncols"], entries_of(values, dtype)
    shape = None if size is None else shape_of((size,), "sparse_csr_tensor")
    by_rows = compressed(crow_indices, col_indices, entries, shape, names)
    found = regrouped(entries, by_rows.indices, by_rows.shape, "sparse_csr")
    return as_leaf(found, requires_grad)


def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix (n, m) by columns: `sparse_csr_tensor` with rows and columns exchanged.

    >>> rg.sparse_csc_tensor([0, 1, 1, 2], [1, 0], [4.0, 3.0]).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    check_device(device)
    names, entries = ["ccol_indices", "row_indices", "nrows"], entries_of(values, dtype)
    shape = None if size is None else shape_of((size,), "sparse_csc_tensor")[::-1]
    by_columns = compressed(ccol_indices, row_indices, entries, shape, names)
    indices, turned = by_columns.indices[::-1], by_columns.shape[::-1]
    return as_leaf(regrouped(entries, indices, turned, "sparse_csc"), requires_grad)
