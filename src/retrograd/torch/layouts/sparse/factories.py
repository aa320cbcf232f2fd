"""Sparse tensors from coordinates and values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....engine.tensor import Tensor, set_requires_grad
from ....kernels.allocation import has_values
from ....ops.creation.factories import shape_of, zeros
from ....ops.creation.from_data import check_device, tensor
from .pattern import Pattern
from .rules import UNSORTED, sparse_of

__all__ = ["sparse_coo_tensor"]

NNZ = (
    "indices and values must have same nnz, but got nnz from indices: {}, nnz from values: {}. "
    "Give a value for each column of indices"
)

NO_PLACES = (
    "a sparse tensor needs the values of its indices, which the meta device has not. Make or load "
    "it on the cpu, then x.to('meta')"
)


def as_integers(data: Any, what: str) -> Any:
    """Indices as an array of int64; RuntimeError for what are no whole numbers."""
    array = data._array if isinstance(data, Tensor) else np.asarray(data)
    if not has_values(array):
        raise NotImplementedError(NO_PLACES)
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
        return as_leaf(
            sparse_of(zeros(0, dtype=dtype), Pattern(places, shape, True)), requires_grad
        )
    places, entries = as_integers(indices, "indices"), entries_of(values, dtype)
    if places.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    entries = entries if entries.ndim else entries.reshape(1)
    count, inner = places.shape[1], entries.shape[1:]
    if len(entries) != count:
        raise RuntimeError(NNZ.format(count, len(entries)))
    if size is None:
        if not count:
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
            f"values has incorrect size: {list(entries.shape)} are no entries of a tensor of size "
            f"{list(shape)}: expected {[count, *shape[dims:]]}"
        )
    check_places(places, shape)
    pattern = Pattern(places, shape, bool(is_coalesced))
    if is_coalesced and (np.diff(pattern.keys) <= 0).any():
        raise RuntimeError(f"{UNSORTED}. Write sparse_coo_tensor(...).coalesce()")
    return as_leaf(sparse_of(entries, pattern), requires_grad)


def _validate_sparse_coo_tensor_args(
    indices: Tensor, values: Tensor, size: Any, is_coalesced: bool | None = None
) -> None:
    """Raise RuntimeError unless these are the parts of a sparse tensor of a size.

    >>> rg._validate_sparse_coo_tensor_args(rg.tensor([[1]]), rg.ones(1), (2,))
    """
    sparse_coo_tensor(indices, values.detach(), size, is_coalesced=is_coalesced)
