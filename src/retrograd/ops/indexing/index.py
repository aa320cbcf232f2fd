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
from typing import Any

import numpy as np

from ...engine.dispatch import MOST_DIMS, as_non_view, check_broadcast
from ...engine.registry import declare, example, name_node, renamed
from ...engine.saved import SavedTensor
from ...engine.tensor import Tensor, concrete, method, new_tensor
from ...errors import wrong_type
from ...kernels import sums
from ...kernels.allocation import copied, empty_beside, inward, is_numpy, is_seen
from ...kernels.memory import in_rows
from ...kernels.native.places import taken_by_loops
from ..core import batching_index
from ..core.arguments import public
from ..core.dims import normalize_dim
from ..core.engine_ops import grad_as_it_lies
from ..shape.basic_views import _select, basic, new_axis
from .keys import WHOLE, ZERO_DIM, check_bounds, combine, is_mask, parse

__all__ = ["index_select", "masked_select", "take"]


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
    if len(dims) == 1 and fits and input.flags.c_contiguous and index.flags.c_contiguous:
        return taken_by_loops(input, index, dims[0])
    found = input[places(index, dims)]
    if not is_numpy(input):
        return found
    part = index if len(dims) == 1 else index[0]
    start = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
    steps = [step for dim, step in enumerate(input.strides) if dim not in dims]
    steps[start:start] = [0] * part.ndim  # the input's order decides, then that of the indices
    own = [0] * found.ndim
    own[start : start + part.ndim] = part.strides
    axes = inward(found.shape, steps, own)[::-1]
    turned = found.transpose(axes)
    if turned.flags.c_contiguous:
        return found
    return turned.copy().transpose(np.argsort(axes).tolist())


def added_at(
    onto: Any, input: Any, index: Any, dims: tuple[int, ...], shape: tuple[int, ...]
) -> Any:
    """`onto`, or zeros of `shape`, with `input` added at the indices, as a table of rows.

    `rows[flat[k]] += values[k]`, one row per place that may be indexed.
    """
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
    values = values.reshape(flat.size, math.prod(inner))
    count = math.prod([shape[d] for d in dims])
    first = None if onto is None else onto.transpose(*dims, *others).reshape(count, values.shape[1])
    rows = sums.scattered_rows(values, flat, count, first)
    out = rows.reshape(*[shape[d] for d in dims], *inner)
    return in_rows(out.transpose(np.argsort((*dims, *others)).tolist()))


def laid_out(found: Any, out: Any) -> Any:
    """`found` in the memory layout of `out`, which may be written."""
    if found.strides == out.strides:
        return found
    out[...] = found
    return out


def _index_put(
    input: Any, values: Any, index: Any, *, dims: tuple[int, ...], accumulate: bool
) -> Any:
    if accumulate:
        values = np.broadcast_to(values, input[places(index, dims)].shape)
        found = added_at(input, values, index, dims, input.shape)
        return laid_out(found, empty_beside(input))
    out = copied(input)
    out[places(index, dims)] = values
    return out


def _index_blank(input: Any, index: Any, *, dims: tuple[int, ...]) -> Any:
    out = copied(input)
    out[places(index, dims)] = 0
    return out


def _indices(node: Any) -> tuple[Any, ...]:
    """For each dimension the index tensor that was given for it, or None."""
    dims, index = node._saved_dims, node._saved_index
    rows = [index] if len(dims) == 1 else [new_tensor(row) for row in index._array]
    found = dict(zip(dims, rows, strict=True))
    return tuple([found.get(dim) for dim in range(max(dims) + 1)])


def _index_handles(node: Any) -> tuple[SavedTensor, ...]:
    """For each dimension the handle to what was given for it; several share what is saved."""
    dims, place = node._saved_dims, node.op.saves.index("index")
    return tuple([SavedTensor(node, place if d in dims else None) for d in range(max(dims) + 1)])


_index_op = declare(
    "index(input, index, *, dims)",
    _index,
    input=lambda xp, g, index, dims, input_shape: xp.index_spread(
        g, index, dims=dims, shape=input_shape
    ),
    moves="input",
    batch=batching_index.index("index"),
    examples=[
        example("3x2, 4:int<3", dims=(0,)),
        example("2x3, 2x2:int<3", dims=(1,)),
        example("3x3x2, 2x4:int<3", dims=(0, 1)),
        example("2x3x2, 2x3:int<2", dims=(0, 2)),
        example("3, 0:int<3", dims=(0,)),
        example("4, :int<4", dims=(0,)),
    ],
    saved={"indices": (_indices, _index_handles)},
    doc="""The entries at integer indices of one dimension, or of several (indices stacked).""",
)

index_spread = declare(
    "index_spread(input, index, *, dims, shape)",
    lambda input, index, *, dims, shape: added_at(None, input, index, dims, shape),
    input=lambda xp, g, index, dims: xp.index(g, index, dims=dims),
    adds="input",
    batch=batching_index.index("index_spread"),
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
    moves="input, values",
    batch=batching_index.index_put,
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
    moves="input",
    batch=batching_index.index("index_blank"),
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
    moves="input",
    batch=batching_index.index("index_select"),
    examples=[
        example("3x2, 4:int<3", dim=0),
        example("2x3, 2:int<3", dim=1),
        example("3, 0:int<3", dim=0),
    ],
    doc="""The entries at the indices of one dimension.""",
)


def basic_view(x: Tensor, index: tuple[Any, ...]) -> Any:
    """The view at a basic index, under the name of what the index does last.

    Whole dimensions at the end are left away already.
    """
    if index and isinstance(index[-1], int):
        return _select(x, index=index)
    return (new_axis if index and index[-1] is None else basic)(x, index=index)


def _getitem(self: Tensor, key: Any) -> Any:
    """`x[key]`: a view for integers, slices, None and `...`; a copy where tensors or masks index.

    Negative indices count from the end; slices have no negative steps. Raises IndexError for an
    index out of bounds, ValueError for such a step.

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
    return gathered(x, *combine(x, tensors)) if tensors else x


_take_op = renamed(_index_op, "TakeBackward0")
_masked_select = renamed(_index_op, "MaskedSelectBackward0")


def gathered(x: Tensor, found: Tensor, dims: tuple[int, ...], op: Any = _index_op) -> Tensor:
    """`index`, with PyTorch's error for an index out of bounds."""
    try:
        return op(x, found, dims=dims)  # type: ignore[no-any-return]
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
    basics, tensors = parse(x._array.shape, tuple(key), True)
    if not tensors:
        raise RuntimeError(f"{name}(): expected at least one index tensor, but got none")
    return basic_view(x, basics) if None in basics else x, *combine(x, tensors)


def check_vector(found: Any, name: str) -> None:
    """Raise unless `found` is a vector of integer indices."""
    least = 8 if name in ("index_copy", "index_fill") else 4
    if found._array.ndim > 1 and name != "index_fill":
        raise IndexError(f"{name}(): Index is supposed to be a vector, got {list(found.shape)}")
    if found._array.dtype.kind != "i" or found._array.dtype.itemsize < least:
        kind = IndexError if name == "index_fill" else RuntimeError
        expected = "int64" if least == 8 else "int32 or int64"
        raise kind(
            f"{name}(): Expected dtype {expected} for index, got {found.dtype}. Convert "
            "first: index.long()"
        )
    if found._array.ndim > 1:
        raise RuntimeError(f"{name}(): Index has to be a vector or scalar, got {list(found.shape)}")


def check_range(found: Any, dim: int, shape: Any, name: str) -> None:
    """Raise unless all indices lie in [0, size): these functions do not count from the end."""
    array, size = concrete(found._array), shape[dim] if shape else 1
    if is_seen(array) and array.size and (array.min() < 0 or array.max() >= size):
        bad = array[(array < 0) | (array >= size)].flat[0]
        if name == "index_select":
            raise IndexError(f"index out of range in self: index {bad}, dimension size {size}")
        kind = RuntimeError if name == "index_add" and len(shape) > 1 else IndexError
        raise kind(f"{name}(): index {bad} is out of bounds for dimension {dim} with size {size}")


@public(out=True, methods="index_select")
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The entries along `dim` at the indices in the vector `index`, as a copy.

    Raises IndexError for a negative index or one out of bounds, RuntimeError for several of a 0-d
    tensor.

    >>> rg.index_select(rg.tensor([10, 20, 30]), 0, rg.tensor([2, 0]))
    tensor([30, 10])
    """
    place = normalize_dim(dim, input._array.ndim)
    check_vector(index, "index_select")
    shape = input._array.shape
    if not shape and index._array.size != 1:
        raise RuntimeError(
            "index_select(): Index to scalar can have only 1 value, got "
            f"{index._array.size} value(s)"
        )
    check_range(index, place, shape, "index_select")
    if not shape:
        made = as_non_view(_index_select(input.reshape(1), index, dim=0).reshape(()))
        return name_node(made, "IndexSelectBackward0")
    vector = index if index._array.ndim else index.reshape(1)
    return _index_select(input, vector, dim=place)


@public(out=True, methods="take")
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at the places `index` of the flattened tensor; the result has its shape.

    Raises IndexError for a place out of bounds, RuntimeError for an `index` that is not int64.

    >>> rg.take(rg.tensor([[1, 2], [3, 4]]), rg.tensor([0, -1]))
    tensor([1, 4])
    """
    if index._array.dtype != np.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index.dtype}")
    flat = grad_as_it_lies(input).reshape(-1)
    try:
        return _take_op(flat, index.contiguous(), dims=(0,))  # type: ignore[no-any-return]
    except IndexError:
        size = flat._array.size
        outside = index._array[(index._array < -size) | (index._array >= size)]
        raise IndexError(
            f"out of range: tried to access index {outside.flat[0]} on a tensor of {size} elements."
        ) from None


@public(out=True, methods="masked_select")
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where `mask` is true, as a vector; both broadcast.

    Raises RuntimeError for a mask that is not boolean.

    >>> rg.masked_select(rg.tensor([1, 2, 3]), rg.tensor([True, False, True]))
    tensor([1, 3])
    """
    check_mask(mask, "masked_select")
    check_broadcast(mask._array.shape, input._array.shape, "masked_select")
    shape = np.broadcast_shapes(input._array.shape, mask._array.shape)
    same = input._array.shape == shape
    expanded = grad_as_it_lies(input) if same else input.expand(shape)
    cells = np.flatnonzero(np.broadcast_to(mask._array, shape))
    return gathered(expanded.reshape(-1), new_tensor(cells), (0,), _masked_select)


def check_mask(mask: Tensor, name: str) -> None:
    """Raise unless `mask` is a boolean tensor."""
    if not isinstance(mask, Tensor):
        raise wrong_type(name, "mask", "Tensor", mask)
    if mask._array.dtype.kind != "b":
        raise RuntimeError(
            f"{name}: expected BoolTensor for mask, got {mask.dtype}. Compare first: mask != 0"
        )


method(_getitem, "__getitem__")
