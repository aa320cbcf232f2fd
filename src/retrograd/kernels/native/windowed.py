"""Pooling by the loops in C: NOTE [Windows] in `src/native/loops/windows.c`.

The functions give None for whatever the loops do not take: arrays that are not NumPy's own, and
other types than single and double precision.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import native
from ..memory import in_rows

MAXIMA, MEANS, SPREAD = range(3)
MOST = 1 << 31  # elements of an image

Sizes = tuple[int, ...]


class Windows(NamedTuple):
    """Which windows of an image there are, by spatial dimension."""

    size: Sizes  # of the image
    out: Sizes  # how many windows
    kernel: Sizes
    stride: Sizes
    padding: Sizes
    dilation: Sizes


def takes(x: Any, dims: int) -> bool:
    """Whether the loops are there, and take this array."""
    return (
        native.loops is not None
        and x.__class__ is np.ndarray
        and x.dtype.char in "fd"
        and dims <= 3
        and (math.prod(x.shape[-dims:]) < MOST or not x.size)
    )


def maxima(x: Any, how: Windows) -> tuple[Any, Any] | None:
    """The maximum of each window, and its flat index."""
    dims = len(how.kernel)
    if not takes(x, dims):
        return None
    shape = (*x.shape[:-dims], *how.out)
    values, indices = np.empty(shape, x.dtype), np.empty(shape, np.int64)
    native.loops.windows(MAXIMA, in_rows(x), values, indices, *how[2:], 0, False)
    return values, indices


def means(x: Any, how: Windows, divisor: int | None, count_pad: bool) -> Any:
    """The mean of each window."""
    dims = len(how.kernel)
    if not takes(x, dims):
        return None
    out = np.empty((*x.shape[:-dims], *how.out), x.dtype)
    native.loops.windows(MEANS, in_rows(x), out, None, *how[2:], divisor or 0, count_pad)
    return out


def spread(g: Any, how: Windows, divisor: int | None, count_pad: bool) -> Any:
    """The adjoint of `means`."""
    dims = len(how.kernel)
    if not takes(g, dims):
        return None
    out = np.empty((*g.shape[:-dims], *how.size), g.dtype)
    native.loops.windows(SPREAD, out, in_rows(g), None, *how[2:], divisor or 0, count_pad)
    return out
