"""Which places elements have in order, by the loops in C: NOTE [Sorting] in `sort.c`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import native

__all__ = ["ranked"]

LARGE = 4096  # elements: below it, the calls here cost more than they save
LONG = 64  # elements of a row: below it, NumPy compares them as quickly


def ranked(x: Any, axis: int, descending: bool) -> Any:
    """The indices that sort `x`, equal elements in their order, NaN as the largest; or None.

    Of NumPy's own arrays, large ones; integers of few bits NumPy sorts as the loops do.
    """
    if native.loops is None or x.__class__ is not np.ndarray or x.size < LARGE:
        return None
    kind, size = x.dtype.kind, x.dtype.itemsize
    if size > 8 or not (kind == "f" or (kind in "iu" and size >= 4)) or not x.dtype.isnative:
        return None
    if x.shape[axis] < LONG or not x.flags.aligned:
        return None
    rows = np.ascontiguousarray(x.swapaxes(axis, -1))
    out = np.empty(rows.shape, np.int64)
    native.loops.rank(out, rows, descending)
    return np.ascontiguousarray(out.swapaxes(axis, -1))
