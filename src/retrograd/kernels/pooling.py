"""Pooling on arrays: maxima and means over windows of the last dimensions, and their adjoints.

Arrays are `(..., *spatial)`; kernel, stride, padding and dilation are one number per spatial
dimension. Windows are read by tap: for each place of the kernel, one strided view of all windows'
elements there. So the loops are over the kernel only. NumPy's own arrays go to the loops in C where
they are built, by `windowed` and `places`. Nothing here knows tensors.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .allocation import full, known_true, table, zeros
from .native import places, windowed
from .native.windowed import Windows
from .sums import in_single, reduced

if TYPE_CHECKING:
    from collections.abc import Iterator

Sizes = tuple[int, ...]
MANY_TAPS = 16  # from here on, one reduction over blocks is cheaper than a loop over taps


@lru_cache(maxsize=256)
def pooled_size(
    size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil: bool
) -> Sizes:
    """How many windows there are; with `ceil`, also those that start inside and end beyond."""
    counts = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        count = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil else 0)) // s + 1
        if ceil and (count - 1) * s >= n + p:
            count -= 1
        counts.append(count)
    return tuple(counts)


def taps(x: Any, how: Windows) -> Iterator[Any]:
    """For each place of the kernel, in order, the view `(..., *out)` of the windows' elements."""
    for tap in np.ndindex(*how.kernel):
        place = [
            slice(i * d, i * d + s * (m - 1) + 1, s)
            for i, d, s, m in zip(tap, how.dilation, how.stride, how.out, strict=True)
        ]
        yield x[(..., *place)]


def reached(how: Windows) -> list[int]:
    """How far the image and its padding, and windows that end beyond, reach in each dimension."""
    return [
        max(s * (m - 1) + d * (k - 1) + 1, p + n) for n, m, k, s, p, d in zip(*how, strict=True)
    ]


def within(how: Windows) -> Any:
    """Where the image lies in its padding."""
    return (..., *[slice(p, p + n) for p, n in zip(how.padding, how.size, strict=True)])


def padded(x: Any, how: Windows, fill: Any) -> Any:
    """`x` with `fill` around it, as far as the windows reach; `x` itself where they stay inside."""
    whole = reached(how)
    if not any(how.padding) and whole == [*how.size]:
        return x
    result = full(x, (*x.shape[: -len(whole)], *whole), fill)
    result[within(how)] = x
    return result


def tiles(how: Windows) -> list[int] | None:
    """`(m, k, m, k)` for windows that tile the image exactly; None elsewhere."""
    exact = all(m * k == n for n, m, k in zip(how.size, how.out, how.kernel, strict=True))
    if any(how.padding) or how.kernel != how.stride or not exact:
        return None
    return [n for pair in zip(how.out, how.kernel, strict=True) for n in pair]


# -- maxima ------------------------------------------------------------------------------------


def max_pool(
    x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil: bool
) -> tuple[Any, Any]:
    """Maxima and the flat spatial index of the first one in each window; NaN counts as largest.

    That of a window with nothing but padding is the lowest number, its index -1.
    """
    dims = len(kernel)
    size = x.shape[-dims:]
    out = pooled_size(size, kernel, stride, padding, dilation, ceil)
    if kernel == size and math.prod(out) == 1 and not any(padding):
        return whole_max(x, dims)
    how = Windows(size, out, kernel, stride, padding, dilation)
    found = windowed.maxima(x, how)
    if found is not None:
        return found
    floating = x.dtype.kind in "fV"
    lowest = x.dtype.type(-math.inf) if floating else np.iinfo(x.dtype).min
    source = padded(x, how, lowest)
    values: Any = None
    for number, view in enumerate(taps(source, how)):
        if values is None:
            values = view.copy()
            best = zeros(values, values.shape, np.uint8 if math.prod(kernel) < 256 else np.uint32)
            continue
        better = np.multiply(view > values, best.dtype.type(number))
        np.maximum(values, view, out=values)
        np.maximum(best, better, out=best)  # numbers grow: a later maximum overrides
    if not known_true((values > lowest).all()):  # NaN, or a window with nothing above the padding
        values, best = careful_max(source, how, lowest)
    return values, flat_index(best, how)


def chosen_place(x: Any, axis: int) -> Any:
    """Where the first maximum is, or the last NaN as in `max_pool`; keeps the axis, of size 1."""
    place, bad = x.argmax(axis, keepdims=True), np.isnan(x)
    if known_true(~bad.any()):
        return place
    last = x.shape[axis] - 1 - np.flip(bad, axis).argmax(axis, keepdims=True)
    return np.where(bad.any(axis, keepdims=True), last, place)


def whole_max(x: Any, dims: int) -> tuple[Any, Any]:
    """The maximum over all of the last dimensions."""
    rows = x.reshape(*x.shape[:-dims], math.prod(x.shape[-dims:]))
    index = chosen_place(rows, -1)
    values = np.take_along_axis(rows, index, -1)
    shape = (*x.shape[:-dims], *[1] * dims)
    return values.reshape(shape), index.reshape(shape)


def careful_max(source: Any, how: Windows, lowest: Any) -> tuple[Any, Any]:
    """Maxima and their taps where values may be NaN or as low as the padding; -1 for no tap."""
    size, out, kernel, stride, padding, dilation = how
    values = full(source, (*source.shape[: -len(out)], *out), lowest)
    best = full(values, values.shape, -1, np.int64)
    views = zip(np.ndindex(*kernel), taps(source, how), strict=True)
    for number, (tap, view) in enumerate(views):
        inside: Any = True
        for i, n, s, p, d, m in zip(tap, size, stride, padding, dilation, out, strict=True):
            at = np.arange(m) * s + (i * d - p)
            inside = np.logical_and(np.expand_dims(inside, -1), (at >= 0) & (at < n))
        better = table(source, inside) & ((best < 0) | (view > values) | (view != view))  # noqa: PLR0124 (NaN)
        np.copyto(values, view, where=better)
        np.copyto(best, number, where=better)
    return values, best


def flat_index(best: Any, how: Windows) -> Any:
    """Taps `(..., *out)` as flat indices into the spatial dimensions."""
    offset: Any = np.zeros((), np.int64)
    start: Any = np.zeros((), np.int64)
    for n, m, k, s, p, d in zip(*how, strict=True):
        offset = offset[..., None] * n + np.arange(k) * d
        start = start[..., None] * n + (np.arange(m) * s - p)
    index = np.take(table(best, offset), best)
    index += table(best, start)
    return index if best.dtype.kind == "u" else np.where(best < 0, -1, index)


def adaptive_max(x: Any, out: Sizes) -> tuple[Any, Any]:
    """Maxima over the bins that divide the last dimensions into `out`, and their flat indices.

    One dimension after the other, the last first: so the first maximum of a row, in the first row
    that has it, is the first of the bin; and so the last NaN.
    """
    size = x.shape[-len(out) :]
    values, index, step = x, zeros(x, (1,) * x.ndim, np.int64), 1
    for axis in range(-1, -len(out) - 1, -1):
        start, stop = bins(size[axis], out[axis])
        widest = np.max(stop - start, initial=1)
        window = table(x, np.minimum(start[:, None] + np.arange(widest), stop[:, None] - 1))
        at = window.reshape(*window.shape, *(1,) * (-1 - axis))  # narrower: the last one repeats
        near = table(x, window)
        index = np.broadcast_to(index, values.shape).take(near, axis) + table(x, at * step)
        values = values.take(near, axis)
        first = chosen_place(values, axis)
        values, index = (np.take_along_axis(a, first, axis).squeeze(axis) for a in (values, index))
        step *= size[axis]
    return values, index


def places_of(indices: Any, dims: int, rows: int, each: int) -> Any:
    """Flat indices into the spatial dimensions, as flat indices into the whole array."""
    flat = indices.reshape(rows, math.prod(indices.shape[-dims:]))
    return (flat + table(flat, np.arange(rows)[:, None] * each)).reshape(-1)


@in_single
def scatter(g: Any, indices: Any, size: Sizes) -> Any:
    """Zeros `(..., *size)` with each element of `g` added at its flat spatial index; not at -1."""
    dims = len(size)
    if not known_true((indices >= 0).all()):
        g, indices = np.where(indices < 0, 0, g), np.maximum(indices, 0)
    lead = g.shape[:-dims]
    rows, each = math.prod(lead), math.prod(size)
    out = zeros(g, (*lead, *size))
    if not places.scatter_add(out, g, indices, rows, each):
        np.add.at(out.reshape(-1), places_of(indices, dims, rows, each), g.reshape(-1))
    return out


def put(x: Any, indices: Any, size: Sizes) -> Any:
    """Zeros `(..., *size)` with each element of `x` in place of that at its flat spatial index."""
    dims = len(size)
    lead = x.shape[:-dims]
    out = zeros(x, (*lead, *size))
    at = places_of(indices, dims, math.prod(lead), math.prod(size))
    out.reshape(-1)[at] = x.reshape(-1)
    return out


def gather(x: Any, indices: Any, dims: int) -> Any:
    """The elements of `x` at flat spatial indices, in the shape of `indices`; 0 at -1."""
    rows, each = math.prod(x.shape[:-dims]), math.prod(x.shape[-dims:])
    there = known_true((indices >= 0).all())
    at = indices if there else np.maximum(indices, 0)
    found = places.gather(x, at, rows, each)
    if found is None:
        found = x.reshape(-1)[places_of(at, dims, rows, each)].reshape(indices.shape)
    return found if there else np.where(indices < 0, 0, found)


# -- means -------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def lengths(n: int, m: int, k: int, s: int, p: int, count_pad: bool) -> Any:
    """How many elements of an axis are in each window: one number if it is the same for all."""
    start = np.arange(m) * s - p
    end = np.minimum(start + k, n + p)
    if not count_pad:
        start, end = np.maximum(start, 0), np.minimum(end, n)
    counts = end - start
    return int(counts[0]) if m and (counts == counts[0]).all() else counts  # not to be written


def divisors(how: Windows, count_pad: bool) -> Any:
    """By how much to divide the sum of each window: one number if it is the same for all."""
    counts: Any = 1
    for axis in zip(*how[:5], strict=True):
        before = counts if isinstance(counts, int) else counts[..., None]
        counts = before * lengths(*axis, count_pad)
    return counts


def divided(x: Any, by: Any) -> Any:
    """`x / by` in the dtype of `x`; integers are cut off, not rounded."""
    whole = x.dtype.kind in "iu"
    if not isinstance(by, int):
        by = table(x, by if whole else by.astype(x.real.dtype))
    if not whole:
        return x / by
    wide = x.astype(np.int64, copy=False)
    return ((wide - np.fmod(wide, by)) // by).astype(x.dtype)


@in_single
def avg_pool(
    x: Any,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil: bool,
    count_pad: bool,
    divisor: int | None,
) -> Any:
    """Means over windows; padding counts as zeros unless `count_pad` is false."""
    dims, ones = len(kernel), (1,) * len(kernel)
    size = x.shape[-dims:]
    out = pooled_size(size, kernel, stride, padding, ones, ceil)
    how = Windows(size, out, kernel, stride, padding, ones)
    pairs = tiles(how) if math.prod(kernel) >= MANY_TAPS else None
    if pairs is None:
        found = windowed.means(x, how, divisor, count_pad)
        if found is not None:
            return found
    by = divisor or divisors(how, count_pad)
    if pairs is not None:
        lead = x.ndim - dims
        axes = tuple(range(lead + 1, lead + 2 * dims, 2))
        blocks = x.reshape(*x.shape[:lead], *pairs)
        return divided(reduced(np.add, blocks, axes, x.dtype), by)
    total: Any = None
    for view in taps(padded(x, how, 0), how):
        if total is None:
            total = view.copy()
        else:
            total += view
    return divided(total, by)


@in_single
def avg_pool_input(
    g: Any,
    size: Sizes,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    count_pad: bool,
    divisor: int | None,
) -> Any:
    """The adjoint of `avg_pool`: each element spread evenly over its window in `(..., *size)`."""
    dims, ones = len(kernel), (1,) * len(kernel)
    lead, out = g.shape[:-dims], g.shape[-dims:]
    how = Windows(size, out, kernel, stride, padding, ones)
    if math.prod(kernel) < MANY_TAPS:
        found = windowed.spread(g, how, divisor, count_pad)
        if found is not None:
            return found
    share = divided(g, divisor or divisors(how, count_pad))
    pairs = tiles(how)
    if pairs is not None:
        ends = [n for m in out for n in (m, 1)]
        spread = np.broadcast_to(share.reshape(*lead, *ends), (*lead, *pairs))
        return spread.copy().reshape(*lead, *size)  # memory of its own, which may be written
    total = zeros(g, (*lead, *reached(how)))
    for view in taps(total, how):
        np.add(view, share, out=view)
    return total[within(how)]


def bins(n: int, count: int) -> tuple[Any, Any]:
    """Where each of `count` bins of `n` elements begins and ends: of nearly equal size, they
    overlap where that does not fit."""
    i = np.arange(count)
    return i * n // count, -(-(i + 1) * n // count)


def sums_between(x: Any, start: Any, stop: Any) -> Any:
    """The sums over the last axis of `x` from each place in `start` to that in `stop`."""
    ends = np.stack([start, stop], -1).reshape(-1)
    extended = np.concatenate([x, zeros(x, (*x.shape[:-1], 1))], -1)  # for ends behind all
    return np.add.reduceat(extended, table(x, ends), -1)[..., ::2]


def shrinking_first(size: Sizes, out: Sizes) -> list[tuple[int, int]]:
    """(axis, new size) of the last dimensions, in the order that takes the least memory between."""
    axes = enumerate(out, -len(out))
    return sorted(axes, key=lambda axis: axis[1] / max(1, size[axis[0]]))


@in_single
def adaptive_avg(x: Any, out: Sizes) -> Any:
    """Means over the bins that divide the last dimensions into `out`."""
    for axis, count in shrinking_first(x.shape, out):
        start, stop = bins(x.shape[axis], count)
        total = sums_between(np.moveaxis(x, axis, -1), start, stop)
        x = np.moveaxis(divided(total, stop - start), -1, axis)
    return x.copy("C")


@in_single
def adaptive_avg_input(g: Any, size: Sizes) -> Any:
    """The adjoint of `adaptive_avg`, whose input has spatial sizes `size`."""
    for axis, n in shrinking_first(g.shape, size):
        start, stop = bins(n, g.shape[axis])
        share = divided(np.moveaxis(g, axis, -1), stop - start)
        place = np.arange(n)  # the bins that hold a place are neighbours
        first, last = np.searchsorted(stop, place, "right"), np.searchsorted(start, place, "right")
        g = np.moveaxis(sums_between(share, first, last), -1, axis)
    return g.copy("C")
