"""Pooling by the loops in C: NOTE [Windows] in `src/native/loops/windows.c`.

The functions give None for whatever the loops do not take: arrays that are not NumPy's own, and
other types than single and double precision.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import native
from ..memory import in_rows

MAXIMA, MEANS, SPREAD = range(3)
MOST = 1 << 31  # elements of an image

Sizes = tuple[int, ...]


def takes(x: Any, dims: int) -> bool:
    """Whether the loops are there, and take this array."""
    return (
        native.loops is not None
        and x.__class__ is np.ndarray
        and x.dtype.char in "fd"
        and dims <= 3
        and (math.prod(x.shape[-dims:]) < MOST or not x.size)
    )


def maxima(
    x: Any, places: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
) -> tuple[Any, Any] | None:
    """The maximum of each window, and its flat index."""
    dims = len(kernel)
    if not takes(x, dims):
        return None
    shape = (*x.shape[:-dims], *places)
    values, indices = np.empty(shape, x.dtype), np.empty(shape, np.int64)
    native.loops.windows(
        MAXIMA, in_rows(x), values, indices, kernel, stride, padding, dilation,
        0, False,
    )  # fmt: skip
    return values, indices


def means(
    x: Any,
    places: Sizes,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    divisor: int | None,
    count_pad: bool,
) -> Any:
    """The mean of each window."""
    dims = len(kernel)
    if not takes(x, dims):
        return None
    out = np.empty((*x.shape[:-dims], *places), x.dtype)
    native.loops.windows(
        MEANS, in_rows(x), out, None, kernel, stride, padding, (1,) * dims,
        divisor or 0, count_pad,
    )  # fmt: skip
    return out


def spread(
    g: Any,
    size: Sizes,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    divisor: int | None,
    count_pad: bool,
) -> Any:
    """The adjoint of `means`, for images of a size."""
    dims = len(kernel)
    if not takes(g, dims):
        return None
    out = np.empty((*g.shape[:-dims], *size), g.dtype)
    native.loops.windows(
        SPREAD, out, in_rows(g), None, kernel, stride, padding, (1,) * dims,
        divisor or 0, count_pad,
    )  # fmt: skip
    return out
