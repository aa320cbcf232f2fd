"""Bins of one variable or several: in which elements lie, and how many. No derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.dispatch import as_tensor
from ...engine.namespaces import recorded
from ...engine.registry import declare, example
from ...engine.tensor import Tensor, as_array, new_tensor, wrap
from ...kernels.allocation import copied, full, known_true, table, zeros
from ...kernels.search import searched
from ..core import batching, return_types
from ..core.arguments import public, write_value
from ..core.dims import rank
from ..core.pointwise import unsupported
from ..creation.factories import evenly, no_memory
from .extrema import ordered

__all__ = ["bincount", "bucketize", "histc", "histogram", "histogramdd", "searchsorted"]


def _places(sequence: Any, values: Any, *, side: Any, dtype: Any) -> Any:
    return as_array(searched(sequence, values, side)).astype(dtype, copy=False)


def _places_of_all(
    xp: Any, size: int, inputs: Any, batched: Any, /, *, side: Any, dtype: Any
) -> Any:
    """Each example's values in its own sequence, or in the one that all examples share."""
    sequence, values = inputs
    if not batched[0] and sequence._array.ndim == 1:
        return _searchsorted(sequence, values, side=side, dtype=dtype)
    sequence, values = batching.with_batch(size, inputs, batched)
    shape = values._array.shape
    if sequence._array.ndim == 2:
        values = xp.reshape(values, shape=(size, math.prod(shape[1:])))
    return xp.reshape(_searchsorted(sequence, values, side=side, dtype=dtype), shape=shape)


_searchsorted = declare(
    "searchsorted(sorted_sequence, input, *, side, dtype)",
    _places,
    complex=False,
    batch=_places_of_all,
    examples=[
        example("1, 2x3", side="left", dtype=np.dtype(np.int64)),
        example("2x1, 2x3", side="right", dtype=np.dtype(np.int32)),
    ],
)


@public(out=True)
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where the values `input` would go in a sequence sorted along its last dimension.

    The sequence is 1-D, or its leading dimensions are those of `input`, row by row. Of equal
    elements the place before is given, or with `right` the place after. `sorter` sorts the sequence
    first. int64 or int32. Raises RuntimeError where the shapes do not match, and for complex
    numbers.

    >>> rg.searchsorted(rg.tensor([1, 3, 5]), rg.tensor([3, 6]))
    tensor([1, 3])
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"side can only be 'left' or 'right' but got {side}")
    if right and side == "left":
        raise RuntimeError(
            "searchsorted(): side and right can't be set to opposites, got side of left while "
            "right was True"
        )
    sequence = ordered(sorted_sequence._array, "searchsorted")
    values = as_tensor(input, sequence.dtype)
    ordered(values._array, "searchsorted")
    if not sequence.ndim:
        raise RuntimeError("torch.searchsorted(): boundaries tensor should have a dimension")
    if sorter is not None:
        check_sorter(sorter, sequence.shape)
        sorted_sequence = recorded.take_along(sorted_sequence, sorter, dim=sequence.ndim - 1)
    if sequence.ndim != 1 and sequence.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
            "dimensions of boundaries tensor and input value tensor must match, but we got "
            f"boundaries tensor {list(sequence.shape)} and input value tensor {list(values.shape)}"
        )
    return _searchsorted(
        sorted_sequence,
        values,
        side="right" if right or side == "right" else "left",
        dtype=np.dtype(np.int32 if out_int32 else np.int64),
    )


def check_sorter(sorter: Tensor, shape: tuple[int, ...]) -> None:
    """Raise unless `sorter` has a place in the sequence, of `shape`, for each of its elements."""
    if sorter._array.shape != shape:
        raise RuntimeError(
            "searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
            f"{list(shape)} and got sorter tensor {list(sorter.shape)}"
        )
    if sorter._array.dtype != np.int64:
        raise RuntimeError(
            f"searchsorted(): sorter must be a tensor of long dtype but got dtype {sorter.dtype}"
        )
    places = sorter._array
    if places.size and known_true((places.min() < 0) | (places.max() >= shape[-1])):
        raise RuntimeError(f"searchsorted(): sorter index out of range of {shape[-1]} elements")


@public(out=True)
def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The number of the bin between sorted `boundaries` (1-D) in which each value lies.

    A value on a boundary belongs to the bin below, or with `right` above. Raises RuntimeError for
    boundaries that are not 1-D.

    >>> rg.bucketize(rg.tensor([0.5, 2.0, 9.0]), rg.tensor([1.0, 2.0]))
    tensor([0, 1, 2])
    """
    if rank(boundaries) != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@public(out=True, methods="histc")
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements lie in each of `bins` equal bins between `min` and `max`; floating.

    Where `min` and `max` are equal, the range of the elements is taken. Elements outside are left
    out. Raises RuntimeError for a bad range, NotImplementedError for integers.

    >>> rg.histc(rg.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    array = ordered(input._array, "histc")
    if array.dtype.kind not in "fV":
        raise unsupported("histc", array.dtype)
    if bins <= 0:
        raise RuntimeError(f"histc(): bins must be > 0, but got {bins}")
    if min > max:
        raise RuntimeError("histc(): max must be larger than min")
    low, high = float(min), float(max)
    if low == high and array.size:
        low, high = float(array.min()), float(array.max())
    if not np.isfinite([low, high]).all():
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    for bound in (low, high):
        dtypes.real_scalar(bound, array.dtype)  # or RuntimeError
    if low == high:  # all elements are in the middle of the range from `low - 1` to `low + 1`
        counts: Any = np.zeros(bins)
        counts[bins // 2] = array.size
    else:  # in the dtype of the elements, whose rounding says on which side of an edge they are
        most = dtypes.finfo(dtypes.of_numpy(array.dtype)).max
        first, last = (np.asarray(n, array.dtype) for n in (low, high))
        inside = array[(first <= array) & (array <= last)]
        if bins * (high - low + 1) > most:  # or the products would be infinite
            first, last, inside = (n.astype(np.float64) / (4 * bins) for n in (first, last, inside))
        steps = np.asarray(bins, inside.dtype)
        place = ((inside - first) * steps / (last - first)).astype(np.int64)
        counts = np.bincount(np.minimum(place, bins - 1), minlength=bins)
    return new_tensor(counts.astype(array.dtype))


@public(methods="bincount")
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each non-negative integer occurs in a 1-D tensor, or the sum of its weights.

    int64 counts; sums in float64, or float32 for float32 weights, whose derivative is that of a
    sum. Raises RuntimeError for negative
    input or `minlength` or another shape, NotImplementedError for numbers that are no integers.

    >>> rg.bincount(rg.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    array = input._array
    if array.dtype.kind not in "iu":
        raise unsupported("bincount_cpu", array.dtype)
    if array.ndim != 1 or (array.size and known_true(array.min() < 0)):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError(f"bincount(): minlength should be >= 0, got {minlength}")
    try:
        counts = np.bincount(array, minlength=minlength)
    except (MemoryError, ValueError):
        raise no_memory(
            (max(int(array.max(initial=0)) + 1, minlength),), np.dtype(np.int64)
        ) from None
    if weights is None or not array.size:
        return new_tensor(counts)
    if weights._array.shape != array.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    sums = _sums(array, weights, len(counts))
    return sums.float() if weights._array.dtype == np.float32 else sums


def _sums(places: Any, weights: Tensor, size: int) -> Tensor:
    """The sums of the weights at each of `size` places, in double precision."""
    index = new_tensor(places.astype(np.int64, copy=False))
    sums: Tensor = recorded.index_spread(weights.double(), index, dims=(0,), shape=(size,))
    return sums


@public(out=True, methods="histogram")
def histogram(
    input: Tensor,
    bins: Any = 100,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """How many elements fall into each bin, or the sums of their weights: (hist, bin_edges).

    `bins` is a vector of increasing edges, or the number of equal bins between the two numbers of
    `range` (by default the extremes). The last bin includes its right edge; elements outside are
    left out. `density` divides by the total and the bins' widths. Raises NotImplementedError unless
    the dtype is float32 or float64, or of half floats and all edges are given; RuntimeError for
    bins, ranges and weights that do not fit; TypeError for a range beside edges.

    >>> rg.histogram(rg.tensor([1.0, 2.0, 1.0]), 2, range=(0.0, 4.0)).hist
    tensor([2., 1.])
    """
    if weight is not None and weight._array.shape != input._array.shape:
        raise RuntimeError(
            "torch.histogram: if weight tensor is provided it should have the same shape as the "
            f"input tensor, but got input with shape {list(input.shape)} and weight with shape "
            f"{list(weight.shape)}"
        )
    if range is not None and isinstance(bins, Tensor):
        raise TypeError("histogram(): the bins are edges, which say the range. Leave range= away")
    points = input._array.reshape(-1, 1)
    hist, edges = _count("histogram", points, [bins], range, weight, density)
    return return_types.histogram(hist, edges[0])


def histogramdd(
    input: Tensor,
    bins: Any,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
    *,
    out: Any = None,
) -> Any:
    """How many points fall into each cell of a grid: (hist, bin_edges), the latter one per axis.

    `input` has shape `(..., d)`: each last line is a point. `bins` is a number, or a list of `d`
    numbers or vectors of edges; `range` the list of `2 * d` limits. `weight` has the shape `(...)`.
    All else as for `histogram`. Raises RuntimeError for fewer than two dimensions, another shape of
    `weight` or another number of `bins`.

    >>> rg.histogramdd(rg.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), 2).hist
    tensor([[0., 1.],
            [1., 1.]])
    """
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    if weight is not None and weight._array.shape != shape[:-1]:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the "
            f"input tensor excluding its innermost dimension, but got input with shape "
            f"{list(shape)} and weight with shape {list(weight.shape)}"
        )
    each = list(bins) if isinstance(bins, (tuple, list)) else [bins] * shape[-1]
    if len(each) != shape[-1]:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    points = input._array.reshape(math.prod(shape[:-1]), shape[-1])
    hist, edges = _count("histogramdd", points, each, range, weight, density)
    if out is not None:
        write_value(hist, out[0], "histogramdd")
        for value, target in zip(edges, out[1], strict=True):
            write_value(value, target, "histogramdd")
        return return_types.histogramdd(out[0], tuple(out[1]))
    return return_types.histogramdd(hist, tuple(edges))


def _count(
    name: str, points: Any, bins: list[Any], range: Any, weight: Any, density: bool
) -> tuple[Tensor, list[Tensor]]:
    """The counts in the grid of `bins`, and the edges along each axis."""
    dtype = points.dtype
    halves = dtypes.half(dtype) and all(isinstance(each, Tensor) for each in bins)
    if dtype not in (np.float32, np.float64) and not halves:
        raise unsupported(name, dtype)
    if range is not None and len(range) != 2 * len(bins):
        raise RuntimeError(
            f"torch.{name}(): for a {len(bins)}-dimensional histogram range should have "
            f"{2 * len(bins)} elements, but got {len(range)}"
        )
    edges = [
        _edges(name, column, each, None if range is None else range[2 * d : 2 * d + 2], d)
        for d, (column, each) in enumerate(zip(points.T, bins, strict=True))
    ]
    sizes = [len(e) - 1 for e in edges]
    flat = zeros(points, len(points), np.int64)
    inside = full(points, len(points), True, np.bool_)
    for column, e, size in zip(points.T, edges, sizes, strict=True):
        place = np.searchsorted(e, column, "right") - 1
        place = np.where(column == e[-1], size - 1, place)
        inside &= (e[0] <= column) & (column <= e[-1]) & (place >= 0) & (place < size)
        flat = flat * size + place
    ones = full(points, len(points), 1, np.float64)
    weights = (new_tensor(ones) if weight is None else weight.reshape(-1))[new_tensor(inside)]
    hist = _sums(flat[inside], weights, math.prod(sizes)).reshape(sizes)
    if density:
        widths = [np.diff(e) for e in edges]
        volume = math.prod(np.ix_(*widths)) if widths else 1
        hist = hist / (hist.sum() * wrap(volume))
    return recorded.cast(hist, dtype=dtype), [new_tensor(e) for e in edges]  # no view


def _edges(name: str, column: Any, bins: Any, limits: Any, dim: int) -> Any:
    """The edges of the bins of one axis."""
    if isinstance(bins, Tensor):
        e = bins._array
        if e.dtype != column.dtype:
            raise RuntimeError(
                f"torch.{name}(): input tensor and bins tensors should have the same dtype, but "
                f"got input with dtype {dtypes.legacy_name(column.dtype)} and bins for dimension "
                f"{dim} with dtype {dtypes.legacy_name(e.dtype)}"
            )
        if e.ndim != 1:
            raise RuntimeError(f"torch.{name}(): bins tensor should have one dimension of edges")
        if e.size < 2:
            raise RuntimeError(
                f"torch.{name}(): bins must be > 0, but got {e.size} edges for dimension {dim}"
            )
        return copied(e)
    if bins <= 0:
        raise RuntimeError(f"torch.{name}(): bins must be > 0, but got {bins} for dimension {dim}")
    if limits is None:
        low, high = (column.min(), column.max()) if column.size else (0.0, 1.0)
    else:
        low, high = limits
    if known_true(~(np.isfinite(low) & np.isfinite(high))):
        raise RuntimeError(f"torch.{name}: dimension {dim}'s range [{low}, {high}] is not finite")
    if known_true(np.greater(low, high)):
        raise RuntimeError(
            f"torch.{name}: min should not exceed max, but got min {low} max {high} for dimension "
            f"{dim}"
        )
    same = np.equal(low, high) * 0.5
    kind = column.dtype
    first, last = np.subtract(low, same, dtype=kind), np.add(high, same, dtype=kind)
    by = np.divide(last - first, bins, dtype=kind)
    index = table(column, np.arange(bins + 1))
    first, last, by = (n.astype(np.float64) for n in (first, last, by))
    return evenly(first, last, by, index).astype(kind)
