"""NumPy's functions of shapes and places, where they mean something else than PyTorch's.

Arguments are NumPy's, in its order; what is not here is refused. Every function is a composition,
so none knows a derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from ..engine.dispatch import as_tensor
from ..engine.tensor import Tensor, new_tensor
from . import array_api as api
from .array_api.arguments import flat, promoted

__all__: list[str] = []

# -- shapes --------------------------------------------------------------------------------------


def transpose(a: Tensor, axes: Any = None) -> Tensor:
    """The axes in another order, in reverse if none is given."""
    return ops.permute(a, tuple(reversed(range(a.ndim)) if axes is None else axes))


def swapaxes(a: Tensor, axis1: int, axis2: int, /) -> Tensor:
    """Two axes exchanged."""
    return ops.swapaxes(a, axis1, axis2)


def squeeze(a: Tensor, axis: Any = None) -> Tensor:
    """The array without axes of size 1."""
    return ops.squeeze(a) if axis is None else api.squeeze(a, axis)


# -- joining and taking apart --------------------------------------------------------------------


def tensors(arrays: Any) -> list[Tensor]:
    """Arrays, of which some may be numbers, with their common dtype."""
    arrays = [array_of(x) if isinstance(x, (list, tuple)) else x for x in arrays]
    like = next(x._array.dtype for x in arrays if isinstance(x, Tensor))
    return promoted([as_tensor(x, like) for x in arrays])


def array_of(value: Any) -> Tensor:
    """Numbers, an array, a tensor or a list of them, as a tensor."""
    if isinstance(value, (list, tuple)) and any(isinstance(part, Tensor) for part in value):
        return ops.stack(tensors(value))
    return value if isinstance(value, Tensor) else ops.as_tensor(np.asarray(value))


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Tensor:
    """Arrays joined along an axis, flattened without one."""
    found = api.concat(tensors(arrays), axis=axis)
    return found if dtype is None else found.to(dtype)


def of_list(function: Callable[[list[Tensor]], Tensor]) -> Callable[[Any], Tensor]:
    """A function of a list of arrays, of which some may be numbers."""
    return lambda tup: function(tensors(tup))


hstack, vstack = of_list(ops.hstack), of_list(ops.vstack)
dstack, column_stack = of_list(ops.dstack), of_list(ops.column_stack)


def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    """The two arrays joined, one after the other."""
    return api.concat(tensors([arr, values]), axis=axis)


def block(arrays: Any) -> Any:
    """Nested lists of arrays: the innermost lie side by side, the next one above the other."""
    depth, inside = 0, arrays
    while isinstance(inside, list):
        depth, inside = depth + 1, inside[0]

    def join(parts: Any, level: int) -> Any:
        if not isinstance(parts, list):
            return parts.reshape((*(1,) * (depth - parts.ndim), *parts.shape))
        return api.concat([join(part, level - 1) for part in parts], axis=-level)

    return join(arrays, depth) if depth else arrays


def meshgrid(*xi: Any, indexing: str = "xy") -> list[Tensor]:
    """The coordinates of a grid over vectors."""
    return api.meshgrid(*tensors(xi), indexing=indexing)


def split(ary: Tensor, indices_or_sections: Any, /, *, axis: int = 0) -> list[Tensor]:
    """Parts along an axis, of one size if their number is given; ValueError where it cannot be."""
    if isinstance(indices_or_sections, int) and ary.shape[axis] % indices_or_sections:
        raise ValueError(
            f"array split does not result in an equal division: {ary.shape[axis]} elements along "
            f"axis {axis} into {indices_or_sections}. Use np.array_split."
        )
    return array_split(ary, indices_or_sections, axis=axis)


def array_split(ary: Tensor, indices_or_sections: Any, /, *, axis: int = 0) -> list[Tensor]:
    """Parts along an axis, of sizes as equal as possible if their number is given."""
    return list(ops.tensor_split(ary, indices_or_sections, axis))


def split_along(name: str, axis: int, least: int) -> Callable[[Tensor, Any], list[Tensor]]:
    """`split` along an axis of arrays of at least so many dimensions; ValueError for others."""

    def call(ary: Tensor, indices_or_sections: Any, /) -> list[Tensor]:
        if ary.ndim < least:
            raise ValueError(
                f"{name} only works on arrays of {least} or more dimensions, not {ary.ndim}"
            )
        return split(ary, indices_or_sections, axis=min(axis, ary.ndim - 1))

    return call


hsplit = split_along("hsplit", 1, 1)  # of a vector, along its only axis
vsplit, dsplit = split_along("vsplit", 0, 2), split_along("dsplit", 2, 3)


def full_like(a: Tensor, fill_value: Any, /, *, dtype: Any = None, shape: Any = None) -> Tensor:
    """An array of the shape of `a`, filled with a value or with values that broadcast."""
    found = as_tensor(fill_value, a._array.dtype).to(a.dtype if dtype is None else dtype)
    return found.expand(a.shape if shape is None else shape).clone()


def rollaxis(a: Tensor, axis: int, /, *, start: int = 0) -> Tensor:
    """An axis moved to stand before another one."""
    axis, start = axis % a.ndim, start + a.ndim if start < 0 else start
    return ops.movedim(a, axis, start - (axis < start))


def gathered(places: Callable[..., Any], *arrays: Tensor) -> Tensor:
    """What NumPy does to the numbers of the elements, done to the elements."""
    numbers, count = [], 0
    for array in arrays:
        numbers.append(np.arange(count, count + array.numel()).reshape(tuple(array.shape)))
        count += array.numel()
    flat = ops.cat([array.reshape(-1) for array in arrays])
    return flat[new_tensor(places(*numbers))]


def insert(arr: Tensor, obj: Any, values: Any, axis: int | None = None) -> Tensor:
    """The array with values put in before places along an axis, flattened without one."""
    new = array_of(values).to(arr.dtype)
    return gathered(lambda old, new: np.insert(old, arrays_of(obj), new, axis), arr, new)


def delete(arr: Tensor, obj: Any, axis: int | None = None) -> Tensor:
    """The array without what is at places along an axis, flattened without one."""
    arr, axis = flat(arr, axis)
    places = np.delete(np.arange(arr.shape[axis]), arrays_of(obj))
    return ops.index_select(arr, axis, new_tensor(places))


def resize(a: Tensor, new_shape: Any) -> Tensor:
    """An array of another shape, filled by repeating this one."""
    return gathered(lambda places: np.resize(places, new_shape), a)


def choose(a: Any, choices: Any, *, mode: Any = "raise") -> Tensor:
    """For each element, the value of that array, or slice, whose number stands in `a`."""
    parts = choices.unbind(0) if isinstance(choices, Tensor) else tensors(choices)
    return gathered(lambda *places: np.choose(arrays_of(a), places, mode=mode), *parts)


def ediff1d(ary: Tensor, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """Differences of neighbours in the flattened array, between added ends."""
    inner = ops.diff(ary.reshape(-1))
    parts = [part for part in (to_begin, inner, to_end) if part is not None]
    return ops.cat([part.reshape(-1).to(ary.dtype) for part in tensors(parts)])


def trim_zeros(filt: Tensor, trim: str = "fb") -> Tensor:
    """A vector without the zeros at its front or back."""
    places = api.nonzero(filt)[0]
    if not len(places):
        return filt[:0]
    first = int(places[0]) if "f" in trim.lower() else 0
    return filt[first : int(places[-1]) + 1] if "b" in trim.lower() else filt[first:]


# -- functions along axes ------------------------------------------------------------------------


def apply_along_axis(func1d: Any, axis: int, arr: Tensor, /, *args: Any, **kwargs: Any) -> Tensor:
    """What a function gives for every vector along an axis, in its place."""
    axis = axis % arr.ndim
    moved = ops.movedim(arr, axis, -1)
    found = [func1d(row, *args, **kwargs) for row in moved.reshape(-1, arr.shape[axis]).unbind(0)]
    parts = ops.stack(promoted(map(array_of, found)))
    joined = parts.reshape((*moved.shape[:-1], *parts.shape[1:]))
    new = list(range(moved.ndim - 1, joined.ndim))
    return ops.movedim(joined, new, [axis + i for i in range(len(new))])


def apply_over_axes(func: Any, a: Tensor, axes: Any, /) -> Tensor:
    """What a function gives over one axis after the other, the number of which it keeps."""
    for axis in np.atleast_1d(axes).tolist():
        found = func(a, axis)
        a = found if found.ndim == a.ndim else ops.unsqueeze(found, axis % a.ndim)
    return a


def piecewise(x: Tensor, condlist: Any, funclist: Any, /, *args: Any, **kw: Any) -> Tensor:
    """For each condition, what its function gives for the elements where it holds, or its number.

    One function more than conditions is for the elements where none holds; else they are 0.
    """
    if isinstance(condlist, Tensor):
        condlist = condlist.unbind(0) if condlist.ndim > x.ndim else [condlist]
    elif x.ndim and not isinstance(condlist[0], (list, Tensor)):
        condlist = [condlist]
    conditions = list(map(array_of, condlist))
    if len(funclist) == len(conditions) + 1:
        conditions.append(~ops.stack(conditions).any(0))
    if len(funclist) != len(conditions):
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or "
            f"{len(conditions) + 1} functions are expected, not {len(funclist)}"
        )
    found = ops.zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        if callable(function):
            parts = array_of(function(x[condition], *args, **kw)).to(x.dtype)
            found = ops.masked_scatter(found, condition, parts.expand(int(condition.sum())))
        else:
            found = ops.where(condition, array_of(function).to(x.dtype), found)
    return found


# -- choosing, sorting, searching ----------------------------------------------------------------


def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """Elements of one array or the other; given the condition alone, the places where it holds."""
    if x is None:
        return api.nonzero(condition)
    condition = condition if isinstance(condition, Tensor) else ops.as_tensor(condition)
    return api.where(condition, x, y)


def partition(a: Tensor, kth: Any, /, *, axis: Any = -1) -> Tensor:
    """The elements in the order in which NumPy's `argpartition` puts them."""
    if axis is None:
        a, axis = a.reshape(-1), 0
    places = np.argpartition(a._array, kth, axis)
    return ops.take_along_dim(a, new_tensor(places), axis)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Tensor:
    """The first choice whose condition holds."""
    found = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        found = api.where(condition, choice, found)
    return found


def take(a: Tensor, indices: Any, /, *, axis: int | None = None) -> Tensor:
    """The parts at `indices`, of the flattened array without an axis."""
    a, axis = flat(a, axis)
    return api.take(a, indices, axis=axis)


def take_along_axis(arr: Tensor, indices: Tensor, /, *, axis: int | None = -1) -> Tensor:
    """The elements at `indices` along an axis, of the flattened array if that is None."""
    arr, axis = flat(arr, axis)
    return api.take_along_axis(arr, indices, axis=axis)


def extract(condition: Tensor, arr: Tensor, /) -> Tensor:
    """The elements where the condition holds."""
    return arr.reshape(-1)[(condition != 0).reshape(-1)]


def compress(condition: Any, a: Any, /, *, axis: int | None = None) -> Tensor:
    """The slices along an axis where the condition, a vector, holds."""
    condition = condition._array if isinstance(condition, Tensor) else np.asarray(condition)
    return take(a, new_tensor(np.flatnonzero(condition)), axis=axis)


def sort(a: Tensor, axis: int | None = -1, *, kind: Any = None, stable: bool = True) -> Tensor:
    """The elements in order, flattened without an axis."""
    a, axis = flat(a, axis)
    return api.sort(a, axis=axis)


def argsort(a: Tensor, axis: int | None = -1, *, kind: Any = None, stable: bool = True) -> Tensor:
    """The places that sort the elements, flattened without an axis."""
    a, axis = flat(a, axis)
    return api.argsort(a, axis=axis)


def flatnonzero(a: Tensor) -> Tensor:
    """The places, in the flattened array, of what is not zero."""
    return api.nonzero(a.reshape(-1))[0]


def unique(
    ar: Tensor,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The different elements, or slices along an axis, in order, and what else is asked."""
    _, *found = np.unique(ar._array, True, True, True, axis, equal_nan=equal_nan)
    places, inverse, counts = map(new_tensor, found)
    asked = ((return_index, places), (return_inverse, inverse), (return_counts, counts))
    parts = [take(ar, places, axis=axis), *(part for want, part in asked if want)]
    return tuple(parts) if len(parts) > 1 else parts[0]


def arrays_of(value: Any) -> Any:
    """Places, which have no gradient, as NumPy takes them."""
    return value._array if isinstance(value, Tensor) else value


# -- what an array is ----------------------------------------------------------------------------


def shape(a: Tensor) -> tuple[int, ...]:
    """The shape."""
    return tuple(a.shape)


def ndim(a: Tensor) -> int:
    """The number of dimensions."""
    return a.ndim


def size(a: Tensor, axis: int | None = None) -> int:
    """The number of elements, or of those along an axis."""
    return a.numel() if axis is None else a.shape[axis]


def isrealobj(x: Tensor) -> bool:
    """Whether the dtype is not complex."""
    return not x.dtype.is_complex


def text(a: Tensor) -> str:
    """The representation of an array."""
    return repr(a)
