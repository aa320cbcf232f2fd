"""The memory behind arrays: who owns it, and views of it that cannot leave it.

NOTE [No view leaves its memory]
1. `strided` is the one way to a view with strides of one's own choosing. It computes the first and
   the last byte that the view reaches, in Python's integers, for NumPy's own check wraps around
   (5 elements, 2**62 bytes apart, pass it), and then lets NumPy lay the view over a flat array of
   bytes. NumPy's `as_strided` checks nothing and is used nowhere.
2. `root` follows every link to the owner: arrays, the dummy that `as_strided` leaves between a
   view and its base, memoryviews. An array with Python objects, of which ours is a field, counts
   for none: its bytes are nobody's business.
3. Where the owner has gaps, as an array from DLPack can, its bytes are those from its first to its
   last element. They may be written where the array may, though the owner be read-only since.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .allocation import copied, has_values, inward, is_numpy


class Span:
    """The bytes from the first to the last element of `base`, for NumPy to make an array of."""

    def __init__(self, base: Any, writeable: bool) -> None:
        low, high = np.lib.array_utils.byte_bounds(base)
        self.base = base
        self.__array_interface__ = {
            "version": 3,
            "shape": (high - low,),
            "typestr": "|u1",
            "data": (low, not writeable),
        }


def address(array: Any) -> int:
    """The address of the first element of `array`."""
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


def root(array: Any) -> Any:
    """The array that owns the memory `array` looks at: NOTE [No view leaves its memory], rule 2."""
    found, link = array, array.base
    while link is not None:
        if isinstance(link, np.ndarray):
            if not link.dtype.hasobject:
                found = link
            link = link.base
        elif isinstance(link, memoryview):
            link = link.obj
        elif isinstance(link, Span) or link.__class__.__name__ == "DummyArray":
            link = link.base
        else:
            return found
    return found


def memory(array: Any) -> Any:
    """All bytes of the memory that `array` looks at, as a flat array on them."""
    owner = root(array)
    writeable = array.flags.writeable
    if owner.flags.c_contiguous and (owner.flags.writeable or not writeable):
        return flat(owner)
    return span(owner, writeable)


def span(array: Any, writeable: bool) -> Any:
    """The bytes from the first to the last element of an array, gaps and all."""
    return np.asarray(Span(array, writeable))


def flat(array: Any) -> Any:
    """The bytes of an array in row-major order, on its memory."""
    return (np.asarray(array) if is_numpy(array) else array).reshape(-1).view(np.uint8)


def strided(array: Any, shape: Any, strides: Any, offset: int = 0, dtype: Any = None) -> Any:
    """A view of the memory of `array`, `offset` bytes from its first element on.

    `strides` are in bytes. The view has the array's dtype, or `dtype`, and is read-only where the
    array is. Raises RuntimeError where it would reach beyond the memory.
    """
    if not has_values(array):
        return array.strided(shape, strides, offset, dtype)
    kind = dtype or array.dtype
    if array.flags.c_contiguous:
        owner, start = flat(array), offset
    else:
        owner = memory(array)
        start = offset + address(array) - address(owner)
    first, last = start, start + kind.itemsize
    for n, step in zip(shape, strides, strict=True):
        if step < 0:
            first += (n - 1) * step
        else:
            last += (n - 1) * step
    if 0 in shape:
        start = 0
    elif first < 0 or last > owner.size:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides of {list(strides)} bytes and an offset of "
            f"{start} bytes are out of bounds for storage of size {owner.size}"
        )
    view = np.ndarray(shape, kind, owner, start, strides)
    if not array.flags.writeable:
        view.flags.writeable = False
    return view


def as_it_lay(array: Any) -> Any:
    """A copy of what is about to be overwritten, in the same order in memory."""
    return array.copy("K") if is_numpy(array) else array.copy()


def copied_with_gaps(array: Any) -> Any:
    """A copy with the strides of `array`, if no two of its elements share a place."""
    if not is_numpy(array) or array.flags.forc:
        return copied(array)
    end = array.itemsize
    for axis in inward(array.shape, array.strides):
        if array.shape[axis] > 1:
            if array.strides[axis] < end:
                return copied(array)
            end += array.strides[axis] * (array.shape[axis] - 1)
    out = np.ndarray(array.shape, array.dtype, np.empty(end, np.uint8), strides=array.strides)
    out[...] = array
    return out


def in_rows(array: Any) -> Any:
    """`array` in row-major order: itself, if it is."""
    return array if array.flags.c_contiguous else array.copy()


def windows(x: Any, axes: Any, sizes: Any, steps: Any, gaps: Any) -> Any:
    """All windows along `axes`, as a view: their number in place of an axis, each in new last ones.

    Along an axis a window has `size` elements, `gap` apart; the next begins `step` further on.
    """
    if not is_numpy(x):  # strides of one's own choosing are no part of the protocols
        reach = [(size - 1) * gap + 1 for size, gap in zip(sizes, gaps, strict=True)]
        key = [slice(None)] * (x.ndim + len(reach))
        for place, (axis, step, gap) in enumerate(zip(axes, steps, gaps, strict=True)):
            key[axis], key[x.ndim + place] = slice(None, None, step), slice(None, None, gap)
        return np.lib.stride_tricks.sliding_window_view(x, reach, axes, writeable=True)[tuple(key)]
    shape, strides = list(x.shape), list(x.strides)
    for axis, size, step, gap in zip(axes, sizes, steps, gaps, strict=True):
        stride = strides[axis]
        shape[axis], strides[axis] = (shape[axis] - (size - 1) * gap - 1) // step + 1, stride * step
        shape.append(size)
        strides.append(stride * gap)
    return strided(x, shape, strides)


def overlaps(array: Any) -> bool:
    """Whether several elements of `array` lie in the same place, as those of windows do."""
    pairs = sorted((abs(step), n) for step, n in zip(array.strides, array.shape, strict=True))
    pairs = [(step, n) for step, n in pairs if n > 1]
    reach = 0  # from the first to the last element, along the dimensions so far
    for step, n in pairs:
        if step <= reach or not step:
            break
        reach += (n - 1) * step
    else:
        return False
    places = np.zeros((), np.int64)
    for step, n in pairs:
        places = np.add.outer(places, np.arange(n) * step)
    return bool(np.unique(places).size < places.size)


def same_view_of(array: Any, room: Any) -> Any:
    """The view that `array` is of its memory, made of `room`, which has as many bytes."""
    offset = address(array) - address(memory(array)) if array.size else 0
    return strided(room, array.shape, array.strides, offset, array.dtype)


def memory_order(array: Any) -> tuple[int, ...] | None:
    """The axes as they lie in memory, outermost first; None for row-major order."""
    if array.flags.c_contiguous:
        return None
    strides = array.strides
    return tuple(sorted(range(array.ndim), key=lambda axis: -abs(strides[axis])))
