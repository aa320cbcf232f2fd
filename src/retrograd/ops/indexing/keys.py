"""What the key of `x[key]` means: a basic index, and index tensors at dimensions of its view.

NOTE [Two steps] in `index` says why there are two.

NOTE [Unknown places]
Nobody knows how many places a mask of the meta device has. What is read there has no shape, so that
raises. What is written there has: the mask stands for as many places as the values need.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import version
from ...engine import native
from ...engine.namespaces import recorded
from ...engine.tensor import Tensor, concrete, constant_like, new_tensor
from ...engine.trace import users_level
from ...kernels.allocation import full, has_memory, has_values, is_seen
from ...kernels.native.places import highest
from ..core.batching_index import adjacent
from ..creation.from_data import copy_of, kinds_in
from ..shape.basic_views import out_of_bounds

WHOLE = slice(None)
BAD_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
    "indices (got {kind}). Convert numbers, int(i), and tensors, i.long()"
)
ZERO_DIM = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert a 0-dim tensor to a "
    "number"
)


NOT_A_TUPLE = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated: a list of indices "
    "stands for a tuple here, and for a tensor in NumPy. Write x[tuple(key)]"
)


def parse(
    shape: tuple[int, ...], key: Any, written: bool = False
) -> tuple[tuple[Any, ...], list[tuple[int, Any]]]:
    """NOTE [Two steps]: the basic part of an index, and the tensors left with their dimensions.

    A mask without values stands for one place where it is `written`: NOTE [Unknown places].
    """
    usual = usual_key(shape, key)
    if usual is not None:
        return usual, []
    listed = lists_items(key)
    if listed:
        warnings.warn(NOT_A_TUPLE, UserWarning, stacklevel=users_level())
    items = list(key) if isinstance(key, tuple) or listed else [key]
    items = [item if item.__class__ in PLAIN else read_item(item) for item in items]
    used = sum([item.ndim if is_mask(item) else takes_dim(item) for item in items])
    if used > len(shape):
        raise IndexError(
            f"too many indices for tensor of dimension {len(shape)} (got {used}, shape "
            f"{list(shape)}): there is one index for a dimension"
        )
    basics: list[Any] = []
    tensors: list[tuple[int, Any]] = []
    dim = out = 0
    for item in items:
        if item is Ellipsis:
            skipped = len(shape) - used
            basics += [WHOLE] * skipped
            dim, out = dim + skipped, out + skipped
        elif item is None:
            basics.append(None)
            out += 1
        elif item is True or item is False:
            basics.append(None)
            tensors.append((out, new_tensor(np.zeros(int(item), np.int64))))
            out += 1
        elif item.__class__ is slice:
            basics.append(checked_slice(item))
            dim, out = dim + 1, out + 1
        elif isinstance(item, int):
            if not -shape[dim] <= int(item) < shape[dim]:
                raise out_of_bounds(item, dim, shape[dim])
            basics.append(item)
            dim += 1
        else:
            for part in expand_mask(item, shape, dim, written) if is_mask(item) else (item,):
                basics.append(WHOLE)
                tensors.append((out, part))
                dim, out = dim + 1, out + 1
    while basics and basics[-1] == WHOLE:
        basics.pop()
    return tuple(basics), tensors


@native.in_c
def usual_key(shape: tuple[int, ...], key: Any) -> tuple[Any, ...] | None:
    """A key of integers within bounds, slices of integers and None, at once; None for any other."""
    items = key if key.__class__ is tuple else (key,)
    dim = used = 0  # but for whole dimensions at the end
    for place, item in enumerate(items, 1):
        if item is None:
            used = place
            continue
        if dim == len(shape):
            return None
        dim += 1
        if item.__class__ is slice:
            start, stop, step = item.start, item.stop, item.step
            if start is None and stop is None and step is None:
                continue
            if not (start.__class__ in BOUNDS and stop.__class__ in BOUNDS and step in (None, 1)):
                return None
        elif item.__class__ is not int or not -shape[dim - 1] <= item < shape[dim - 1]:
            return None
        used = place
    return items[:used]


def lists_items(key: Any) -> bool:
    """Whether a list stands for a tuple: a short one that holds more than numbers, as in PyTorch.

    `x[[[0], [1]]]` is `x[[0], [1]]`, the element at (0, 1).
    """
    return (
        isinstance(key, list)
        and len(key) < 32
        and any(item is None or item is Ellipsis or isinstance(item, PARTS) for item in key)
    )


BOUNDS = frozenset({int, type(None)})
PARTS = (Tensor, list, tuple, range, slice, np.ndarray)
PLAIN = frozenset({int, slice, bool, type(None), type(Ellipsis)})


def is_mask(item: Any) -> bool:
    """Whether an item of an index is a tensor of truth values."""
    return isinstance(item, Tensor) and item._array.dtype.kind == "b"


def only_masks(key: Any) -> bool:
    """Whether all tensors and lists in an index are masks."""
    items = key if isinstance(key, tuple) or lists_items(key) else (key,)
    others = [read_item(item) for item in items if item.__class__ not in PLAIN]
    return all(is_mask(item) or not isinstance(item, Tensor) for item in others)


def takes_dim(item: Any) -> bool:
    """Whether an item of an index that is no mask stands for a dimension of the tensor."""
    return not (item is None or item is Ellipsis or item is True or item is False)


BYTE_MASK = (
    "indexing with dtype retrograd.uint8 is now deprecated, please use a dtype retrograd.bool "
    "instead: mask.bool()"
)


def read_item(item: Any) -> Any:
    """Any other item of an index as an int, a bool or a tensor."""
    if isinstance(item, (list, tuple, np.ndarray, range)):
        array = item if isinstance(item, np.ndarray) else listed(item)
        item = new_tensor(array.astype(np.int64) if array.size == 0 else array)
    if isinstance(item, Tensor):
        array = item._array
        if array.dtype == np.uint8:  # PyTorch's first masks
            warnings.warn(version.named(BYTE_MASK), UserWarning, stacklevel=users_level())
            array = array.astype(np.bool_)
            item = new_tensor(array)
        small = array.dtype.kind == "i" and array.dtype.itemsize < 4
        if array.dtype.kind not in "bi" or (small and array.ndim):
            raise IndexError(
                "tensors used as indices must be long, int, byte or bool tensors, got "
                f"{item.dtype}. Convert first: index.long()"
            )
        unknown = not has_memory(array) or not has_values(array)
        return item if array.ndim or unknown else array.item()
    if isinstance(item, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(item).__name__}' as an index: {item!r}")
    try:
        return index_of(item)
    except TypeError:
        if isinstance(item, Sequence):
            return read_item(list(item))
        raise IndexError(BAD_INDEX.format(kind=type(item).__name__)) from None


def listed(item: Any) -> Any:
    """The array of nested sequences of places, all of them in int64, or of truth values."""
    array = copy_of(item if kinds_in(item) <= {bool, int} else _arrays(item), None)
    return array.astype(np.int64) if array.dtype.kind in "iu" else array


def _arrays(item: Any) -> Any:
    if isinstance(item, Tensor):
        return item._array
    return [_arrays(part) for part in item] if isinstance(item, (list, tuple)) else item


def index_of(value: Any) -> int:
    """A number as an integer; an integer of another class, such as a size of a graph, as it is."""
    return value if isinstance(value, int) else operator.index(value)


def checked_slice(item: slice) -> slice:
    """A slice of plain integers; TypeError for others, ValueError for a step below 1."""
    try:
        bounds = [None if n is None else index_of(n) for n in (item.start, item.stop, item.step)]
    except TypeError:
        raise TypeError(
            f"slice indices must be integers or None or have an __index__ method, got {item}"
        ) from None
    if bounds[2] is not None and bounds[2] <= 0:
        raise ValueError(
            "step must be greater than zero. To reverse a dimension use flip: x.flip(0)"
        )
    return slice(*bounds)


def expand_mask(
    mask: Tensor, shape: tuple[int, ...], dim: int, written: bool = False
) -> list[Tensor]:
    """The places at which a mask is true, one index tensor per dimension of the mask."""
    for place, n in enumerate(mask._array.shape):
        if n != shape[dim + place]:
            raise IndexError(
                f"The shape of the mask {list(mask._array.shape)} at index {place} does not match "
                f"the shape of the indexed tensor {list(shape)} at index {dim + place}"
            )
    if written and not has_values(mask._array):
        return [new_tensor(full(mask._array, 1, 0, np.int64))] * mask._array.ndim
    return [new_tensor(part) for part in np.nonzero(mask._array)]


def as_many(x: Tensor, key: Any, found: Tensor, dims: tuple[int, ...], values: Tensor) -> Tensor:
    """NOTE [Unknown places]: the indices of `x` for a key of masks, as many as `values` has."""
    unknown = not has_values(x._array) and found._array.shape[-1:] == (1,) and only_masks(key)
    if not unknown:
        return found
    behind = x._array.ndim - dims[-1] if adjacent(dims) else x._array.ndim - len(dims) + 1
    sizes = values._array.shape
    count = sizes[-behind] if len(sizes) >= behind else 1
    return recorded.expand(found, shape=(*found._array.shape[:-1], count))


def combine(x: Tensor, tensors: list[tuple[int, Any]]) -> tuple[Tensor, tuple[int, ...]]:
    """The one index tensor and the dimensions that the record `index` of `x` takes."""
    dims, parts = tuple([dim for dim, _ in tensors]), [part for _, part in tensors]
    if x._array.__class__ is not np.ndarray:
        parts = [constant_like(part._array, x) for part in parts]
    if len(parts) == 1:
        return parts[0], dims
    arrays = [part._array for part in parts]
    if len({array.shape for array in arrays}) == 1 and {array.__class__ for array in arrays} == {
        np.ndarray
    }:
        return new_tensor(np.array(arrays)), dims
    if any(not has_memory(array) for array in arrays):
        shape = np.broadcast_shapes(*[array.shape for array in arrays])
        expanded = [recorded.expand(part, shape=shape) for part in parts]
        return recorded.stack(*expanded, dim=0), dims
    try:
        return new_tensor(np.stack(np.broadcast_arrays(*arrays))), dims
    except ValueError:
        shapes = ", ".join(str(list(array.shape)) for array in arrays)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None


def check_bounds(shape: tuple[int, ...], found: Tensor, dims: tuple[int, ...]) -> None:
    """Raise for the first index that lies outside its dimension; a batch shows no values."""
    if not has_memory(found._array):
        if len(dims) > 1:
            return  # NumPy finds it
        found = new_tensor(concrete(found._array))
    parts = (found._array,) if len(dims) == 1 else tuple(found._array)
    for dim, part in zip(dims, parts, strict=True):
        known = is_seen(part) and part.dtype == np.int64 and part.size
        if known and highest(part) < shape[dim]:  # at once
            continue
        outside = part[(part < -shape[dim]) | (part >= shape[dim])]
        if outside.size and not shape[dim]:
            raise IndexError(
                f"index {outside.flat[0]} is out of bounds for dimension with size 0: dimension "
                f"{dim} of shape {list(shape)}"
            )
        if outside.size:
            raise out_of_bounds(outside.flat[0], dim, shape[dim])


def covers(index: tuple[Any, ...], shape: tuple[int, ...]) -> bool:
    """Whether a basic index takes every element in its place."""
    return len(index) <= len(shape) and all(
        item.__class__ is slice and item.indices(n) == (0, n, 1)
        for item, n in zip(index, shape, strict=False)
    )
