"""Channels innermost: the order in memory of PyTorch's `channels_last`.

The shape stays `(N, C, *spatial)`, with two or three spatial dimensions; `channel` is the place of
C. What has its channels innermost keeps them there: kernels that compute in row-major order give
their result to `as_in`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .allocation import empty

__all__ = ["as_in", "channels_inside", "with_channels_inside"]

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
    """A copy of `x` with its channels innermost in memory."""
    shape = (*x.shape[:channel], *x.shape[channel + 1 :], x.shape[channel])
    out = np.moveaxis(empty(x, shape), -1, channel)
    if x.__class__ is ndarray:  # the same, but it owns its memory
        out = ndarray(x.shape, x.dtype, strides=out.strides)
    out[...] = x
    return out


def as_in(x: Any, *outs: Any, channel: int = 1) -> Any:
    """The arrays `outs`, or the only one, with their channels innermost where those of `x` are."""
    if channels_inside(x, channel):
        outs = tuple([with_channels_inside(out, channel) for out in outs])
    return outs if len(outs) > 1 else outs[0]
