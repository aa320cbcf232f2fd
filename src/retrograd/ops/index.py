"""Indexing: `x[...]` with everything that NumPy and PyTorch allow, and its records.

NOTE [Two steps]
1. As in PyTorch, the integers, slices and None of an index are applied first, as one view. What is
   left are integer tensors at some dimensions of that view, applied as one gathering copy. So
   `x[0, :, i]` has the layout of `x[0][:, i]`, where NumPy would move the indexed dimension first.
2. A mask stands for the integer tensors of its true places; True and False for a new dimension
   that is kept or emptied.
3. The record `index` takes one index tensor: the user's own where only one dimension is indexed, so
   that writing to it before the backward pass is found out; otherwise a private copy, in which the
   indices of several dimensions are broadcast and stacked.
"""

from __future__ import annotations

import math
import operator
import warnings
from typing import Any

import numpy as np

from ..backends import sums
from ..engine.dispatch import MOST_DIMS, check_broadcast, write_out
from ..engine.op import declare, example, recorded
from ..engine.tensor import Interpreted, Tensor, concrete, method, new_tensor
from . import index_rules
from .create import kinds_in
from .dims import normalize_dim
from .region import _select, basic, new_axis, out_of_bounds

__all__ = ["index_select", "masked_select", "take"]

WHOLE = slice(None)
BAD_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
    "indices (got {kind})"
)
ZERO_DIM = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert a 0-dim tensor to a "
    "number"
)


# -- the records -------------------------------------------------------------------------------


def places(index: Any, dims: tuple[int, ...]) -> tuple[Any, ...]:
    """The NumPy index that has the given integer arrays at `dims`."""
    key: list[Any] = [WHOLE] * (dims[-1] + 1)
    if len(dims) == 1:
        key[dims[0]] = index
    else:
        for dim, part in zip(dims, index, strict=True):
            key[dim] = part
    return tuple(key)


def _index(input: Any, index: Any, *, dims: tuple[int, ...]) -> Any:
    fits = input.ndim + index.ndim <= MOST_DIMS  # else NumPy's take writes beyond its own buffer
    if len(dims) == 1 and fits and input.flags.c_contiguous:
        return input.take(index, dims[0])
    return input[places(index, dims)]


def _index_spread(input: Any, index: Any, *, dims: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """The sum is taken in rows: `rows[flat[k]] += values[k]`, one per place that was indexed."""
    parts = (index,) if len(dims) == 1 else tuple(index)
    others = tuple([d for d in range(len(shape)) if d not in dims])
    flat: Any = 0
    for part, dim in zip(parts, dims, strict=True):
        flat = flat * shape[dim] + np.where(part < 0, part + shape[dim], part)
    flat = np.ravel(flat)
    inner = tuple([shape[d] for d in others])
    adjacent = dims[-1] - dims[0] == len(dims) - 1
    start, ndim = (dims[0] if adjacent else 0), parts[0].ndim
    values = np.moveaxis(input, range(start, start + ndim), range(ndim))
    rows = np.zeros((math.prod([shape[d] for d in dims]), math.prod(inner)), input.dtype)
    add_rows(rows, flat, values.reshape(flat.size, rows.shape[1]))
    out = rows.reshape(*[shape[d] for d in dims], *inner)
    return out.transpose(np.argsort((*dims, *others)))


def add_rows(rows: Any, flat: Any, values: Any) -> None:
    """`rows[flat[k]] += values[k]` for every k, places that repeat included."""
    if not flat.size or not rows.shape[1]:
        return
    if rows.shape[1] == 1:
        rows[:, 0] += sums.scattered(values[:, 0], flat, len(rows))
        return
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    rows[ordered[starts]] = np.add.reduceat(values[order], starts, 0)


def _index_put(
    input: Any, values: Any, index: Any, *, dims: tuple[int, ...], accumulate: bool
) -> Any:
    out, key = np.array(input), places(index, dims)
    if not accumulate:
        out[key] = values
        return out
    spread = _index_spread(
        np.broadcast_to(values, out[key].shape), index, dims=dims, shape=out.shape
    )
    return np.add(out, spread).astype(out.dtype, copy=False)


def _index_blank(input: Any, index: Any, *, dims: tuple[int, ...]) -> Any:
    out = np.array(input)
    out[places(index, dims)] = 0
    return out


_index_op = declare(
    "index(input, index, *, dims)",
    _index,
    input=lambda xp, g, index, dims, input_shape: xp.index_spread(
        g, index, dims=dims, shape=input_shape
    ),
    linear="input",
    batch=index_rules.index("index"),
    examples=[
        example("3x2, 4:int<3", dims=(0,)),
        example("2x3, 2x2:int<3", dims=(1,)),
        example("3x3x2, 2x4:int<3", dims=(0, 1)),
        example("2x3x2, 2x3:int<2", dims=(0, 2)),
        example("3, 0:int<3", dims=(0,)),
        example("4, :int<4", dims=(0,)),
    ],
    doc="""The entries at integer indices of one dimension, or of several (indices stacked).""",
)

index_spread = declare(
    "index_spread(input, index, *, dims, shape)",
    _index_spread,
    input=lambda xp, g, index, dims: xp.index(g, index, dims=dims),
    linear="input",
    batch=index_rules.index("index_spread"),
    examples=[
        example("4x2, 4:int<3", dims=(0,), shape=(3, 2)),
        example("2x2x2, 2x2:int<3", dims=(1,), shape=(2, 3)),
        example("4x2, 2x4:int<3", dims=(0, 1), shape=(3, 3, 2)),
        example("3x3, 2x3:int<2", dims=(0, 2), shape=(2, 3, 2)),
    ],
    node_name="IndexBackward0",
    doc="""Zeros of `shape` with `input` added at the indices: the adjoint of `index`.""",
)

index_put_op = declare(
    "index_put(input, values, index, *, dims, accumulate)",
    _index_put,
    input=lambda xp, g, index, dims, accumulate: (
        g if accumulate else xp.index_blank(g, index, dims=dims)
    ),
    values=lambda xp, g, index, dims: xp.index(g, index, dims=dims),
    linear="input, values",
    batch=index_rules.index_put,
    examples=[
        example("3x2, 4x2, 4:int<3", dims=(0,), accumulate=True),
        example("3x2, , 1:int<3", dims=(0,), accumulate=False),
        example("3x3, 1, 2x4:int<3", dims=(0, 1), accumulate=True),
        example("2x3x2, 1x3, 2x1:int<2", dims=(0, 2), accumulate=False),
    ],
    doc="""A copy with `values` stored, or added, at the indices.""",
)

index_blank = declare(
    "index_blank(input, index, *, dims)",
    _index_blank,
    input=lambda xp, g, index, dims: xp.index_blank(g, index, dims=dims),
    linear="input",
    batch=index_rules.index("index_blank"),
    examples=[example("3x2, 2:int<3", dims=(0,)), example("3x3, 2x2:int<3", dims=(0, 1))],
    node_name="IndexPutBackward0",
    doc="""A copy with zeros at the indices.""",
)

_index_select = declare(
    "index_select(input, index, *, dim)",
    lambda input, index, *, dim: input.take(index, dim),
    input=lambda xp, g, index, dim, input_shape: xp.index_spread(
        g, index, dims=(dim,), shape=input_shape
    ),
    linear="input",
    batch=index_rules.index("index_select"),
    examples=[
        example("3x2, 4:int<3", dim=0),
        example("2x3, 2:int<3", dim=1),
        example("3, 0:int<3", dim=0),
    ],
    doc="""The entries at the indices of one dimension.""",
)


# -- reading an index --------------------------------------------------------------------------


def parse(shape: tuple[int, ...], key: Any) -> tuple[tuple[Any, ...], list[tuple[int, Any]]]:
    """NOTE [Two steps]: the basic part of an index, and the tensors left with their dimensions."""
    items = list(key) if isinstance(key, tuple) or lists_items(key) else [key]
    items = [item if item.__class__ in PLAIN else read_item(item) for item in items]
    used = sum(item.ndim if is_mask(item) else takes_dim(item) for item in items)
    if used > len(shape):
        raise IndexError(
            f"too many indices for tensor of dimension {len(shape)} (got {used}, shape "
            f"{list(shape)})"
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
        elif item.__class__ is int:
            if not -shape[dim] <= item < shape[dim]:
                raise out_of_bounds(item, dim, shape[dim])
            basics.append(item)
            dim += 1
        else:
            for part in expand_mask(item, shape, dim) if is_mask(item) else (item,):
                basics.append(WHOLE)
                tensors.append((out, part))
                dim, out = dim + 1, out + 1
    while basics and basics[-1] == WHOLE:
        basics.pop()
    return tuple(basics), tensors


def lists_items(key: Any) -> bool:
    """Whether a list stands for a tuple: a short one that holds more than numbers, as in PyTorch.

    `x[[[0], [1]]]` is `x[[0], [1]]`, the element at (0, 1).
    """
    return (
        isinstance(key, list)
        and len(key) < 32
        and any(item is None or item is Ellipsis or isinstance(item, PARTS) for item in key)
    )


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
        if item.__class__ is not np.ndarray:
            kinds_in(item)  # for its error
        array = np.asarray(_arrays(item))
        item = new_tensor(array.astype(np.int64) if array.size == 0 else array)
    if isinstance(item, Tensor):
        array = item._array
        if array.dtype == np.uint8:  # PyTorch's first masks
            warnings.warn(BYTE_MASK, UserWarning, stacklevel=4)
            array = array.astype(np.bool_)
            item = new_tensor(array)
        small = array.dtype.kind == "i" and array.dtype.itemsize < 4
        if array.dtype.kind not in "bi" or (small and array.ndim):
            raise IndexError(
                "tensors used as indices must be long, int, byte or bool tensors, got "
                f"{item.dtype}. Convert first: index.long()"
            )
        return item if array.ndim or isinstance(array, Interpreted) else array.item()
    if isinstance(item, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(item).__name__}' as an index: {item!r}")
    try:
        return bool(item) if isinstance(item, np.bool_) else operator.index(item)
    except TypeError:
        raise IndexError(BAD_INDEX.format(kind=type(item).__name__)) from None


def _arrays(item: Any) -> Any:
    if isinstance(item, Tensor):
        return item._array
    return [_arrays(part) for part in item] if isinstance(item, (list, tuple)) else item


def checked_slice(item: slice) -> slice:
    """A slice of plain integers; ValueError for a step that is not positive."""
    bounds = [None if n is None else operator.index(n) for n in (item.start, item.stop, item.step)]
    if bounds[2] is not None and bounds[2] <= 0:
        raise ValueError(
            "step must be greater than zero. To reverse a dimension use flip: x.flip(0)"
        )
    return slice(*bounds)


def expand_mask(mask: Tensor, shape: tuple[int, ...], dim: int) -> list[Tensor]:
    """The places at which a mask is true, one index tensor per dimension of the mask."""
    for place, n in enumerate(mask._array.shape):
        if n != shape[dim + place]:
            raise IndexError(
                f"The shape of the mask {list(mask._array.shape)} at index {place} does not match "
                f"the shape of the indexed tensor {list(shape)} at index {dim + place}"
            )
    return [new_tensor(part) for part in np.nonzero(mask._array)]


def combine(tensors: list[tuple[int, Any]]) -> tuple[Tensor, tuple[int, ...]]:
    """The one index tensor and the dimensions that the record `index` takes."""
    dims = tuple([dim for dim, _ in tensors])
    if len(tensors) == 1:
        return tensors[0][1], dims
    arrays = [part._array for _, part in tensors]
    if any(isinstance(array, Interpreted) for array in arrays):
        shape = np.broadcast_shapes(*[array.shape for array in arrays])
        wide = [recorded.expand(part, shape=shape) for _, part in tensors]
        return recorded.stack(*wide, dim=0), dims
    try:
        return new_tensor(np.stack(np.broadcast_arrays(*arrays))), dims
    except ValueError:
        shapes = ", ".join(str(list(array.shape)) for array in arrays)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None


def check_bounds(shape: tuple[int, ...], found: Tensor, dims: tuple[int, ...]) -> None:
    """Raise for the first index that lies outside its dimension; a batch shows no values."""
    if isinstance(found._array, Interpreted):
        if len(dims) > 1:
            return  # NumPy finds it
        found = new_tensor(concrete(found._array))
    parts = (found._array,) if len(dims) == 1 else tuple(found._array)
    for dim, part in zip(dims, parts, strict=True):
        outside = part[(part < -shape[dim]) | (part >= shape[dim])]
        if outside.size:
            raise out_of_bounds(outside.flat[0], dim, shape[dim])


def basic_view(x: Tensor, index: tuple[Any, ...]) -> Any:
    """The view at a basic index, under the name of what the index does last."""
    told = [item for item in index if item is None or item != WHOLE]
    if told and told[-1].__class__ is int:
        return _select(x, index=index)
    return (new_axis if told and told[-1] is None else basic)(x, index=index)


def getitem(self: Tensor, key: Any) -> Any:
    """`x[key]`: a view for integers, slices, None and `...`; a copy where tensors or masks index.

    Negative indices count from the end; slices have no negative steps. Raises IndexError for an
    index out of bounds, ValueError for such a step. Source: PyTorch's `Tensor.__getitem__`.

    >>> import retrograd as rg
    >>> x = rg.tensor([[1, 2, 3], [4, 5, 6]])
    >>> x[1, :2], x[:, [0, 2]], x[x > 4]
    (tensor([4, 5]), tensor([[1, 3],
            [4, 6]]), tensor([5, 6]))
    """
    shape = self._array.shape
    if key.__class__ is int and shape and -shape[0] <= key < shape[0]:  # the usual key, at once
        return _select(self, index=(key,))
    if not shape and (key.__class__ is int or key.__class__ is slice):
        raise IndexError(ZERO_DIM if key.__class__ is int else "slice() cannot be applied to a "
                         "0-dim tensor.")  # fmt: skip
    basics, tensors = parse(shape, key)
    x = basic_view(self, basics) if not tensors or any(item != WHOLE for item in basics) else self
    return gathered(x, *combine(tensors)) if tensors else x


def gathered(x: Tensor, found: Tensor, dims: tuple[int, ...]) -> Any:
    """`index`, with PyTorch's error for an index out of bounds."""
    try:
        return _index_op(x, found, dims=dims)
    except IndexError:
        check_bounds(x._array.shape, found, dims)
        raise


def read_indices(x: Tensor, indices: Any, name: str) -> Any:
    """For the tuple of index tensors (None to skip) of `index_put`: the view to index, `combine`'s.

    The view is `x` itself, unless a 0-d mask adds a dimension.
    """
    if not isinstance(indices, (tuple, list)):
        raise TypeError(f"{name}(): argument 'indices' must be tuple of Tensors")
    key = [
        slice(None) if item is None
        else item.reshape(1) if isinstance(item, Tensor) and not (is_mask(item) or item._array.ndim)
        else item
        for item in indices
    ]  # fmt: skip
    basics, tensors = parse(x._array.shape, tuple(key))
    return basic_view(x, basics) if None in basics else x, *combine(tensors)


def check_vector(found: Any, name: str) -> None:
    """Raise unless `found` is a vector of integer indices."""
    if found._array.dtype.kind != "i" or found._array.dtype.itemsize < 4:
        raise RuntimeError(
            f"{name}(): Expected dtype int32 or int64 for index, got {found.dtype}. Convert "
            "first: index.long()"
        )
    if found._array.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, got {list(found.shape)}")


def check_range(found: Any, dim: int, size: int, name: str) -> None:
    """Raise unless all indices lie in [0, size): these functions do not count from the end."""
    array = concrete(found._array)
    if array.size and (array.min() < 0 or array.max() >= size):
        bad = array[(array < 0) | (array >= size)].flat[0]
        if name == "index_select":
            raise IndexError(f"index out of range in self: index {bad}, dimension size {size}")
        kind = RuntimeError if name == "index_add" else IndexError
        raise kind(f"{name}(): index {bad} is out of bounds for dimension {dim} with size {size}")


def index_select(input: Tensor, dim: int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The entries along `dim` at the indices in the vector `index`, as a copy.

    Raises IndexError for a negative index or one out of bounds. Source: PyTorch's `index_select`.

    >>> import retrograd as rg
    >>> rg.index_select(rg.tensor([10, 20, 30]), 0, rg.tensor([2, 0]))
    tensor([30, 10])
    """
    if out is not None:
        return write_out(index_select, out, (input, dim, index), {})  # type: ignore[no-any-return]
    place = normalize_dim(dim, input._array.ndim)
    check_vector(index, "index_select")
    shape = input._array.shape
    check_range(index, place, shape[place] if shape else 1, "index_select")
    if not shape:
        return _index_select(input.reshape(1), index, dim=0).reshape(())  # type: ignore[no-any-return]
    vector = index if index._array.ndim else index.reshape(1)
    return _index_select(input, vector, dim=place)  # type: ignore[no-any-return]


def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements at the places `index` of the flattened tensor; the result has its shape.

    Raises IndexError for a place out of bounds. Source: PyTorch's `take`.

    >>> import retrograd as rg
    >>> rg.take(rg.tensor([[1, 2], [3, 4]]), rg.tensor([0, -1]))
    tensor([1, 4])
    """
    if out is not None:
        return write_out(take, out, (input, index), {})  # type: ignore[no-any-return]
    if index._array.dtype != np.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index.dtype}")
    flat = input.reshape(-1)
    try:
        return _index_op(flat, index, dims=(0,))  # type: ignore[no-any-return]
    except IndexError:
        size = flat._array.size
        outside = index._array[(index._array < -size) | (index._array >= size)]
        raise IndexError(
            f"out of range: tried to access index {outside.flat[0]} on a tensor of {size} elements."
        ) from None


def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where `mask` is true, as a vector; both broadcast.

    Raises RuntimeError for a mask that is not boolean. Source: PyTorch's `masked_select`.

    >>> import retrograd as rg
    >>> rg.masked_select(rg.tensor([1, 2, 3]), rg.tensor([True, False, True]))
    tensor([1, 3])
    """
    if out is not None:
        return write_out(masked_select, out, (input, mask), {})  # type: ignore[no-any-return]
    check_mask(mask, "masked_select")
    check_broadcast(mask._array.shape, input._array.shape, "masked_select")
    shape = np.broadcast_shapes(input._array.shape, mask._array.shape)
    whole = input if input._array.shape == shape else input.expand(shape)
    cells = np.flatnonzero(np.broadcast_to(mask._array, shape))
    return gathered(whole.reshape(-1), new_tensor(cells), (0,))  # type: ignore[no-any-return]


def check_mask(mask: Tensor, name: str) -> None:
    """Raise unless `mask` is a boolean tensor."""
    if not isinstance(mask, Tensor):
        raise TypeError(f"{name}(): argument 'mask' must be Tensor, not {type(mask).__name__}")
    if mask._array.dtype.kind != "b":
        raise RuntimeError(
            f"{name}: expected BoolTensor for mask, got {mask.dtype}. Compare first: mask != 0"
        )


method(getitem, "__getitem__")
for function in (index_select, masked_select, take):
    method(function)
