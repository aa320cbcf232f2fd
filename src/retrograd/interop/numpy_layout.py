"""NumPy's functions of shapes and places, where they mean something else than PyTorch's.

Arguments are NumPy's, in its order; what is not here is refused. Every function is a composition,
so none knows a derivative.
"""

from __future__ import annotations

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


def pad(
    array: Tensor, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0
) -> Tensor:
    """The array with elements added at its ends: a constant, or some of its own."""
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).tolist()
    if mode == "constant":
        return ops.constant_pad_nd(
            array, [n for ends in widths[::-1] for n in ends], constant_values
        )
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise ValueError(f"np.pad(): mode {mode!r} has no counterpart in Retrograd")
    for axis, ends in enumerate(widths):  # what NumPy adds to the places, it adds to the elements
        places = np.pad(np.arange(array.shape[axis]), ends, mode=mode)  # type: ignore[call-overload]
        array = ops.index_select(array, axis, new_tensor(places))
    return array


# -- joining and taking apart --------------------------------------------------------------------


def tensors(arrays: Any) -> list[Tensor]:
    """Arrays, of which some may be numbers, with their common dtype."""
    like = next(x._array.dtype for x in arrays if isinstance(x, Tensor))
    arrays = [ops.as_tensor(np.asarray(x)) if isinstance(x, (list, tuple)) else x for x in arrays]
    return promoted([as_tensor(x, like) for x in arrays])


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Tensor:
    """Arrays joined along an axis, flattened without one."""
    found = api.concat(tensors(arrays), axis=axis)
    return found if dtype is None else found.to(dtype)


def hstack(tup: Any) -> Tensor:
    """Arrays side by side."""
    return ops.hstack(tensors(tup))


def vstack(tup: Any) -> Tensor:
    """Arrays one above the other."""
    return ops.vstack(tensors(tup))


def dstack(tup: Any) -> Tensor:
    """Arrays behind each other."""
    return ops.dstack(tensors(tup))


def column_stack(tup: Any) -> Tensor:
    """Vectors as columns."""
    return ops.column_stack(tensors(tup))


def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    """One array after the other."""
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


def hsplit(ary: Tensor, indices_or_sections: Any, /) -> list[Tensor]:
    """Parts along the second axis, of a vector along its only one."""
    return split(ary, indices_or_sections, axis=1 if ary.ndim > 1 else 0)


def vsplit(ary: Tensor, indices_or_sections: Any, /) -> list[Tensor]:
    """Parts along the first axis; ValueError for a vector."""
    if ary.ndim < 2:
        raise ValueError(f"vsplit only works on arrays of 2 or more dimensions, not {ary.ndim}")
    return split(ary, indices_or_sections, axis=0)


def dsplit(ary: Tensor, indices_or_sections: Any, /) -> list[Tensor]:
    """Parts along the third axis; ValueError where there is none."""
    if ary.ndim < 3:
        raise ValueError(f"dsplit only works on arrays of 3 or more dimensions, not {ary.ndim}")
    return split(ary, indices_or_sections, axis=2)


def rollaxis(a: Tensor, axis: int, /, *, start: int = 0) -> Tensor:
    """An axis moved to stand before another one."""
    axis, start = axis % a.ndim, start + a.ndim if start < 0 else start
    return ops.movedim(a, axis, start - (axis < start))


# -- choosing, sorting, searching ----------------------------------------------------------------


def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """One or the other; with the condition alone, the places where it holds."""
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
    return found  # type: ignore[no-any-return]


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
) -> Any:
    """The different elements in order, and what else is asked."""
    found = api.unique_all(ar)
    wanted = (True, return_index, return_inverse, return_counts)
    chosen = tuple(part for part, want in zip(found, wanted, strict=True) if want)
    return chosen if len(chosen) > 1 else chosen[0]


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
    """What is printed."""
    return repr(a)
