"""Reductions, in row-major order; sums along any axes, as exact along the outer ones as the last.

NOTE [Sums]
1. NumPy adds pairwise along the axis that is contiguous in memory. Along another it adds row after
   row, and BLAS does in products, so the rounding errors of many float32 rows add up: the mean over
   the first axis of 2,000,000 x 4 numbers is off by 2e-5.
2. Here rows are added in blocks of `ROWS`, by a product with ones, which reads memory once, and the
   blocks' sums are added in double precision. Rows shorter than `WIDE` are joined to longer ones
   first. That is faster than NumPy, too, the more the shorter the rows.
3. Arrays smaller than `LARGE` and sums of fewer than `MANY` terms are left to NumPy, and arrays
   that have functions of their own add themselves.
4. The rounding of a large mean is seen in the distances from it, and squares may be beyond float32.
   So variances of float32 numbers are computed in double precision, by a loop in C. Kernels, and
   NumPy on arrays whose copy would not stay in the cache, take the mean of the rounded distances
   from the mean, which is what rounding lost, from these and from their squares.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import half, real_of
from .allocation import empty, full, has_special, has_values, is_numpy, is_traced, table, zeros
from .memory import in_rows
from .native import loops
from .native import places as in_c

if TYPE_CHECKING:
    from collections.abc import Callable

LARGE = 1024  # elements: below it, the calls here cost more than they save
FEW = 4096  # elements: what loops in C for few numbers take, which add as NumPy does
MANY = 256  # terms of one sum: below it, rounding errors are few
ROWS = 32  # rows that are added in the array's own precision
WIDE = 1024  # elements of a row: enough for a call of BLAS
CACHED = 1 << 14  # elements that stay in the cache in double precision
SMALL = 1e-30  # sums of squares below it may have lost terms
CHUNK = 4096  # products that are added in the arrays' own precision

add_reduce: Any = np.add.reduce  # Any: NumPy's stubs know no positional keepdims
ndarray = np.ndarray
FUNCTIONS: dict[Any, Any] = {
    np.maximum: np.max, np.minimum: np.min, np.logical_or: np.any, np.logical_and: np.all,
}  # fmt: skip


def reduced(
    ufunc: Any,
    x: Any,
    axes: Any,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
) -> Any:
    """`ufunc.reduce`, in row-major order whatever that of `x` is, as PyTorch's reductions are.

    CuPy's extrema are functions without `initial`, which matters where there are no elements.
    """
    if x.__class__ is ndarray:
        if axes is None or x.flags.c_contiguous:
            return ufunc.reduce(x, axes, dtype, None, keepdims, initial)
    elif ufunc not in FUNCTIONS or is_numpy(x):
        return ufunc.reduce(x, axes, dtype, None, keepdims, initial)
    elif x.size or initial is np._NoValue:
        return FUNCTIONS[ufunc](x, axes, keepdims=keepdims)
    shape = tuple(1 if d in axes else n for d, n in enumerate(x.shape) if keepdims or d not in axes)
    if x.__class__ is not ndarray:
        return full(x, shape, initial)
    return ufunc.reduce(x, axes, dtype, np.empty(shape, dtype or x.dtype), keepdims, initial)


def accumulated(ufunc: Any, x: Any) -> Any:
    """`ufunc.accumulate` of an extremum or a truth along the first axis; CuPy has it of sums."""
    if is_numpy(x):
        return ufunc.accumulate(x, 0)
    out, step = x.copy(), 1
    while step < len(out):  # each covers twice as many as before
        out[step:] = ufunc(out[step:], out[:-step])
        step *= 2
    return out


def by_segment(ufunc: Any, x: Any, starts: Any, places: Any) -> Any:
    """The extremum of each run of rows, by where it begins and by the number of each row's run."""
    if is_numpy(x):
        return ufunc.reduceat(x, starts, 0, x.dtype)
    out = x[starts]
    ufunc.at(out, places, x)
    return out


def dot(x: Any, y: Any) -> Any:
    """`np.vecdot`, which CuPy lacks."""
    if is_numpy(x):
        return np.vecdot(x, y)
    return np.matmul(np.conj(x)[..., None, :], y[..., None])[..., 0, 0]


def total(x: Any, axes: Any, keepdims: bool = False) -> Any:
    """The sum over `axes`, a tuple counted from the front or None for all.

    Half floats are added in single precision; of integers and booleans NumPy decides the dtype.
    """
    if x.dtype.char not in "fdFD":
        if x.dtype.kind in "biu":
            return add_reduce(x, axes, None, None, keepdims)
        return reduced(np.add, x, axes, np.float32, keepdims).astype(x.dtype)
    whole = axes is None or len(axes) == x.ndim
    if x.size < LARGE or has_special(x) or (whole and x.flags.forc):
        return reduced(np.add, x, None if whole else axes, None, keepdims)
    axes = tuple(range(x.ndim)) if axes is None else axes
    if math.prod([x.shape[axis] for axis in axes]) < MANY:
        return reduced(np.add, x, axes, None, keepdims)
    order = sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))
    sizes, summed = merged_axes(x, order, axes)
    out = x.transpose(order).reshape(sizes)
    for place in reversed(range(len(sizes))):
        if summed[place]:
            out = add_reduce(out, -1) if place == out.ndim - 1 else rows_added(out, place)
    left = [axis for axis in order if axis not in axes]
    out = out.reshape([x.shape[axis] for axis in left]).transpose(np.argsort(left).tolist())
    if keepdims:
        out = out.reshape([1 if axis in axes else n for axis, n in enumerate(x.shape)])
    return out.astype(x.dtype, "C", copy=False)


def moments(
    x: Any, axes: tuple[int, ...], degrees: float, root: bool = False, keep: bool = True
) -> tuple[Any, Any, Any]:
    """`x` less its mean over `axes`, which stay, the mean, and the variance, or its `root`.

    Not to `keep` the first two may save them. `degrees` of freedom divide the sum of squares.
    """
    kind = x.dtype
    if x.__class__ is np.ndarray and kind.char == "f" and x.size and loops is not None:
        found = moments_by_loop(x, axes, degrees, root, keep)
        if found is not None:
            return found
    count = max(1, math.prod([x.shape[axis] for axis in axes]))
    if kind.char == "f" and has_special(x):
        mean = np.true_divide(add_reduce(x, axes, np.float64, None, True), count).astype(kind)
        centred = x - mean
        rest = np.true_divide(add_reduce(centred, axes, kind, None, True), count)
        far = centred.astype(np.float64) if root else centred
        share = np.square(rest.astype(np.float64)) * count
        squares = add_reduce(far * far, axes, np.float64, None, True) - share
        centred = centred - rest
    else:
        plain = x.__class__ is np.ndarray  # whose values may be asked for
        rounded = plain and kind.char in "fF" and x.size > CACHED
        exact = x if rounded or kind.char in "dD" else in_double(x)
        centred, mean, squares = distances(exact, axes, count)
        if rounded:
            rest = np.true_divide(total(centred, axes, True), count)
            share = (rest * rest.conj()).real * count
            squares = np.maximum(squares - share, 0)
            if not squares.max() < math.inf or (root and squares.min() < SMALL):
                centred, mean, squares = distances(in_double(x), axes, count)
            elif keep and (share > 1e-15 * squares).any():
                centred -= rest
    spread = np.true_divide(squares, degrees)
    spread = np.sqrt(spread) if root else spread
    return (
        centred.astype(kind, copy=False) if keep else None,
        mean.astype(kind, copy=False) if keep else None,
        spread.astype(real_of(kind), copy=False),
    )


def distances(x: Any, axes: tuple[int, ...], count: int) -> tuple[Any, Any, Any]:
    """The distances from the mean, the mean, and the sums of the squares of the distances."""
    mean = np.true_divide(total(x, axes, True), count)
    centred = x - mean
    if x.size <= FEW:
        return centred, mean, total((centred * centred.conj()).real, axes, True)
    return centred, mean, dots(centred, centred, axes).real


def dots(x: Any, y: Any, axes: tuple[int, ...]) -> Any:
    """The sums of `conj(x) * y` over `axes`, which stay; of the last ones without the products."""
    first = x.ndim - len(axes)
    if not x.size or axes != tuple(range(first, x.ndim)) or has_special(x):
        return total(x.conj() * y, axes, True)
    rows = x.shape[:first]
    found = inner(x.reshape(*rows, -1), y.reshape(*rows, -1))
    return found.reshape(*rows, *[1] * len(axes))


def moments_by_loop(
    x: Any, axes: tuple[int, ...], degrees: float, root: bool, keep: bool
) -> tuple[Any, Any, Any] | None:
    """`moments` by the loop in C; None where there is none for such axes."""
    order = sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))
    rows = np.ascontiguousarray(x.transpose(order))
    sizes = [1, 1, 1, 1]  # outer ones, summed, kept, summed
    place = 4
    parts = merged_axes(rows, [*range(x.ndim)], tuple([order.index(axis) for axis in axes]))
    for n, own in reversed([*zip(*parts, strict=True)]):
        place -= 1 + (own != (place % 2 == 0))
        if place < 0:
            return None
        sizes[place] = n
    shape = [1 if axis in axes else x.shape[axis] for axis in order]
    kept: Any = [np.empty(s, x.dtype) if keep else None for s in (rows.shape, shape)]
    centred, mean = kept
    spread = np.empty(shape, x.dtype)
    loops.moments(rows, centred, mean, spread, tuple(sizes[:3]), degrees, root)
    back = sorted(range(x.ndim), key=order.__getitem__)
    if keep:
        centred, mean = centred.transpose(back), in_rows(mean.transpose(back))
    return centred, mean, in_rows(spread.transpose(back))


def in_double(x: Any) -> Any:
    """A real or complex array in double precision, in row-major order where it was expanded."""
    order: Any = "K" if has_special(x) or 0 not in x.strides else "C"
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64, order, copy=False)


def merged_axes(x: Any, order: list[int], axes: tuple[int, ...]) -> tuple[list[int], list[bool]]:
    """The axes in `order`, neighbours in memory of one kind as one: their sizes, and which sum."""
    sizes: list[int] = []
    summed: list[bool] = []
    step = 0
    for axis in order:
        n, stride = x.shape[axis], x.strides[axis]
        if n == 1:
            continue
        if sizes and summed[-1] == (axis in axes) and step == stride * n:
            sizes[-1] *= n
        else:
            sizes.append(n)
            summed.append(axis in axes)
        step = stride
    return sizes, summed


def rows_added(x: Any, axis: int) -> Any:
    """The sum over an axis that is not the last; in double precision where there are many rows."""
    before, n, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    out = middle_summed(x.reshape(math.prod(before), n, math.prod(after)))
    return out.reshape(*before, *after)


def middle_summed(x: Any) -> Any:
    """The sum over the middle axis, (a, n, m) to (a, m), by products with blocks of rows."""
    a, n, m = x.shape
    join, rest = -(-WIDE // m), 0
    if 1 < join <= n // ROWS:
        rest = n % join
        joined = x[:, : n - rest].reshape(a, n // join, join * m)
        out = add_reduce(middle_summed(joined).reshape(a, join, m), 1)
    elif n > ROWS:
        rest = n % ROWS
        blocks = x[:, : n - rest].reshape(a, n // ROWS, ROWS, m)
        if m > 1 and x.strides[2] != x.itemsize:  # BLAS could not read it
            sums = add_reduce(blocks, 2)
        else:
            sums = np.matmul(table(x, np.ones(ROWS, x.dtype)), blocks)
        out = middle_summed(sums.astype(np.result_type(x.dtype, np.float64), copy=False))
    else:
        return add_reduce(x, 1)
    return out + add_reduce(x[:, n - rest :], 1) if rest else out


def inner(x: Any, y: Any) -> Any:
    """The sums of `conj(x) * y` along the last axis, of arrays of one shape."""
    n = x.shape[-1]
    if n <= CHUNK:
        return dot(x, y)
    rest = n % CHUNK
    shape = (*x.shape[:-1], n // CHUNK, CHUNK)
    chunks = [each[..., : n - rest].reshape(shape) for each in (x, y)]
    out = add_reduce(dot(*chunks), -1)
    return out + dot(x[..., n - rest :], y[..., n - rest :]) if rest else out


def run_starts(ordered: Any) -> Any:
    """Where each run of equal elements begins in a sorted vector."""
    first = empty(ordered, ordered.shape, np.bool_)
    first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return np.flatnonzero(first)


def in_single(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that sums half floats: in float32, rounded once."""

    @functools.wraps(function)
    def rounded(x: Any, *args: Any, **kwargs: Any) -> Any:
        kind = x.dtype
        if half(kind):
            order: Any = "C" if 0 in x.strides else "K"  # no layout of an expanded array
            return function(x.astype(np.float32, order), *args, **kwargs).astype(kind)
        return function(x, *args, **kwargs)

    return rounded


@in_single
def scattered(values: Any, places: Any, size: int, onto: Any = None) -> Any:
    """`onto`, or `size` zeros, with each of `values`, 1-D, added at its place.

    In double precision where they meet often; integers, which doubles could not hold, never.
    """
    kind = values.dtype
    often = kind.kind not in "biu" and len(places) >= ROWS * size
    out = sum_start(values, size, onto, np.result_type(kind, np.float64) if often else kind)
    terms = values.astype(out.dtype, copy=False)
    if often or not in_c.add_rows(out[:, None], terms[:, None], places):
        np.add.at(out, places, terms)  # in one dimension NumPy has a fast path
    return out.astype(kind, copy=False)


@in_single
def scattered_rows(values: Any, places: Any, size: int, onto: Any = None) -> Any:
    """The rows of `onto`, or zeros, with each row of `values`, (n, m), added at its place.

    By the loops in C, or sorted and summed by segment: `np.add.at` on rows is ten times slower.
    """
    n, m = values.shape
    if m == 1:
        first = None if onto is None else onto[:, 0]
        return scattered(values[:, 0], places, size, first)[:, None]
    few = MANY if values.dtype.char in "fF" else CHUNK
    if values.dtype.kind in "fc" and n > few and n >= ROWS * size:  # many meet: a few at a time
        total = sum_start(values, (size, m), onto, np.result_type(values.dtype, np.float64))
        nothing = full(values, (size, m), -0.0, total.dtype)  # -0 + x is x, for 0 and -0, too
        for at in range(0, n, CHUNK):
            wide = values[at : at + CHUNK].astype(total.dtype, copy=False)
            total += scattered_rows(wide, places[at : at + CHUNK], size, nothing)
        return total.astype(values.dtype, copy=False)
    if onto is None and is_numpy(values):
        out = empty(values, (size, m))
        if in_c.add_rows(out, values, places, fresh=True):
            return out
    out = sum_start(values, (size, m), onto, values.dtype)
    if is_traced(out):
        np.add.at(out, places, values)
    elif n and m and has_values(out) and not in_c.add_rows(out, values, places):
        order = np.argsort(places, kind="stable")
        found = places[order]
        starts = run_starts(found)
        out[found[starts]] += np.add.reduceat(values[order], starts, 0, out.dtype)
    return out


def sum_start(like: Any, shape: Any, onto: Any, dtype: Any) -> Any:
    """What sums start from: zeros, or a copy of `onto`."""
    return zeros(like, shape, dtype) if onto is None else onto.astype(dtype, "C")
