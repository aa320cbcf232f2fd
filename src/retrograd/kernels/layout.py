"""Orders in memory: channels innermost, PyTorch's `channels_last`; strides and flags of an order.

The shape stays `(N, C, *spatial)`, with two or three spatial dimensions; `channel` is the place of
C. What has its channels innermost keeps them there: kernels that compute in row-major order give
their result to `as_in`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .allocation import empty, inward

__all__ = ["Flags", "along", "as_in", "channels_inside", "rows", "with_channels_inside"]

ndarray = np.ndarray


def channels_inside(x: Any, channel: int = 1) -> bool:
    """Whether the channels of `x` are innermost, by its strides, and it is not in row-major order.

    There may be gaps, as in a slice. False for arrays that are not NumPy's.
    """
    if x.__class__ is not ndarray or x.flags.c_contiguous or x.ndim not in (4, 5):
        return False
    sizes, strides, reach = x.shape, x.strides, x.itemsize
    for dim in (channel, *[d for d in range(x.ndim - 1, -1, -1) if d != channel]):
        if strides[dim] < reach:
            return False
        reach = strides[dim] * sizes[dim]
    return True


def with_channels_inside(x: Any, channel: int = 1) -> Any:
    """A copy of `x` with its channels, or any one dimension, innermost in memory."""
    shape = (*x.shape[:channel], *x.shape[channel + 1 :], x.shape[channel])
    last = x.ndim - 1
    out = empty(x, shape).transpose(*range(channel), last, *range(channel, last))
    if x.__class__ is ndarray:  # the same, but it owns its memory
        out = ndarray(x.shape, x.dtype, strides=out.strides)
    out[...] = x
    return out


def as_in(x: Any, *outs: Any, channel: int = 1) -> Any:
    """The arrays `outs`, or the only one, with their channels innermost where those of `x` are."""
    if channels_inside(x, channel):
        outs = tuple([with_channels_inside(out, channel) for out in outs])
    return outs if len(outs) > 1 else outs[0]


def rows(shape: Any, itemsize: int) -> tuple[int, ...]:
    """The strides of elements in row-major order."""
    sizes = [itemsize, *(max(n, 1) for n in reversed(shape[1:]))]
    return tuple(np.multiply.accumulate(sizes, dtype=object))[: len(shape)][::-1]


def along(x: Any, order: str, itemsize: int) -> tuple[int, ...]:
    """The strides of new elements for the shape of `x`, in `order`, which may be that of `x`."""
    if order == "C":
        return rows(x.shape, itemsize)
    axes = list(range(x.ndim))
    if order != "F":
        axes = inward(x.shape, x.strides)
    strides = rows([x.shape[axis] for axis in axes[::-1]], itemsize)[::-1]
    return tuple(strides[axes.index(axis)] for axis in range(x.ndim))


class Flags:
    """What NumPy says in `flags`."""

    __slots__ = ("c_contiguous", "f_contiguous", "writeable")

    aligned = owndata = True

    def __init__(self, x: Any) -> None:
        self.writeable = True
        wide = [axis for axis, n in enumerate(x.shape) if n > 1]
        for order in "CF":
            strides = along(x, order, x.itemsize)
            alike = not x.size or all(x.strides[axis] == strides[axis] for axis in wide)
            setattr(self, f"{order.lower()}_contiguous", alike)

    @property
    def forc(self) -> bool:
        """In one order or the other."""
        return self.c_contiguous or self.f_contiguous  # type: ignore[no-any-return]

    carray = contiguous = property(lambda self: self.c_contiguous)
