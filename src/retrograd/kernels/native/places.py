"""Reading and adding at places that indices name, by the loops in C: NOTE [Places] in `index.c`.

Each function takes large arrays of NumPy's own; for all others those that read give what NumPy's
way gives, or None, and those that write give False and leave their result as it was.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import native
from .small import quick

LARGE = 2048  # elements: below it, the calls here cost more than they save
MANY = 32  # additions to one place that may be rounded to the array's own precision


@quick("highest")
def highest(indices: Any) -> Any:
    """The largest of int64 indices; a negative one counts as a very large one."""
    unsigned = indices.view(np.uint64)
    if indices.__class__ is not np.ndarray:
        return unsigned.max()
    return unsigned.item(unsigned.argmax())  # eight times as fast as max()


def plain(*arrays: Any) -> bool:
    """Whether the loops are there, and take these arrays: NumPy's own, in row-major order."""
    return native.loops is not None and all(
        x.__class__ is np.ndarray and x.flags.carray for x in arrays
    )


def indices(index: Any) -> Any:
    """An index as the loops take it: int64 and contiguous."""
    return index.astype(np.int64, "C", copy=False)


def taken_by_loops(x: Any, index: Any, axis: int) -> Any:
    """`x.take(index, axis)`."""
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    if index.size * math.prod(before) * math.prod(after) >= LARGE and plain(x):
        out = np.empty((*before, *index.shape, *after), x.dtype)
        sizes = math.prod(before), x.shape[axis], math.prod(after)
        if x.dtype.kind != "O" and native.loops.take(
            out.reshape(sizes[0], index.size, sizes[2]), x.reshape(sizes), indices(index)
        ):
            return out
    return x.take(index, axis)


def taken_rows(x: Any, index: Any) -> Any:
    """`x[index]`, for integers at the first axis."""
    return taken_by_loops(x, index, 0) if x.__class__ is np.ndarray else x[index]


def gather(x: Any, index: Any, rows: int, each: int) -> Any:
    """For each of `rows` rows of `each` elements those that its row of `index` names, or None."""
    if index.size < LARGE or not plain(x, index):
        return None
    out = np.empty(index.shape, x.dtype)
    count = index.size // rows
    right = native.loops.gather(out.reshape(rows, count), x.reshape(rows, each), indices(index))
    return out if right else None


def scatter_add(out: Any, values: Any, index: Any, rows: int, each: int) -> bool:
    """Add each of `values` to its row of `out` where `index` says, unless many meet."""
    if index.size < LARGE or out.dtype.char not in "fd" or not plain(out, values, index):
        return False
    count = index.size // rows
    if count > MANY * each:
        return False
    parts = out.reshape(rows, each), values.reshape(rows, count)
    return native.loops.scatter_add(*parts, indices(index))  # type: ignore[no-any-return]


def add_rows(out: Any, values: Any, index: Any, fresh: bool = False) -> bool:
    """Add each row of `values`, (n, m), to the row of `out` that `index` names.

    A `fresh` one is memory as it comes, and written in the same pass.
    """
    if values.size < LARGE or not plain(out) or values.__class__ is not np.ndarray:
        return False
    if out.dtype.char in "FD":
        pair = values.shape[0], 2 * values.shape[1]
        real = np.ascontiguousarray(values).view(values.real.dtype).reshape(pair)
        return add_rows(out.view(out.real.dtype), real, index, fresh)
    if out.dtype.char not in "fd":
        return False
    add = native.loops.sum_rows if fresh else native.loops.add_rows
    found = add(out, np.ascontiguousarray(values), indices(index))
    return found  # type: ignore[no-any-return]
