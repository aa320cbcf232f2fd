"""`scatter_reduce`, `index_reduce`, `segment_reduce`: sums, products, extrema of groups.

NOTE [Segments]
Sums and means are `scatter_add`. For the others, the tensor's own elements and the scattered ones
are laid out in one line, sorted by the place they go to: each place is one segment of that line.
The records work on the line and `group`, the number of each element's segment, and know no indices.
The share of a factor in a product is the product of the others in its segment, from both sides by
`linear_recurrence`, without a division: so derivatives hold to every order where factors are zero.
Elements that equal an extremum share its cotangent evenly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...engine.dispatch import as_non_view
from ...engine.registry import declare, name_node
from ...engine.tensor import Tensor, new_tensor
from ...kernels.allocation import full, has_values, table
from ...kernels.sums import by_segment
from ..core.arguments import public
from ..core.engine_ops import grad_as_it_lies
from ..core.pointwise import shared
from ..elementwise.arithmetic import div
from ..elementwise.clamp_where import maximum, minimum, where
from ..reduction.extrema import least, ordered
from ..shape.join import cat
from .scatter import as_vector, check_along, cut, entries, of_dims, scatter_add
from .take_along import flat_places

__all__ = ["index_reduce", "scatter_reduce", "segment_reduce"]

LINES = ["4, 4:int<1", "1, 1:int<1", "0, 0:int<1"]


def _reduced(ufunc: Any, name: str) -> Any:
    """The forward of a reduction of segments."""

    def forward(input: Any, group: Any) -> Any:
        if not input.size:
            return input.copy()
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        if name == "prod":
            return np.multiply.reduceat(input, starts, dtype=input.dtype)
        return by_segment(ufunc, ordered(input, "scatter_reduce"), starts, group)

    return forward


def _others(xp: Any, input: Any, group: Any) -> Any:
    """For each element, the product of all others in its segment."""
    number = group + 1
    first = xp.ne(number, xp.shift(number, dim=0, by=1))
    last = xp.ne(number, xp.shift(number, dim=0, by=-1))
    before = xp.zero_where(xp.shift(input, dim=0, by=1), first)
    after = xp.zero_where(xp.shift(input, dim=0, by=-1), last)
    from_left = xp.linear_recurrence(first, before, dim=0, reverse=False)
    return from_left * xp.linear_recurrence(last, after, dim=0, reverse=True)


_segment_prod = declare(
    "segment_prod(input, group)",
    _reduced(np.multiply, "prod"),
    input=lambda xp, g, input, group: (
        xp.index(g, group, dims=(0,)) * xp.conj(_others(xp, input, group))
    ),
    examples=LINES,
    node_name="ScatterReduceBackward0",
    doc="""The product of each segment: NOTE [Segments].""",
)


def _segment_share(input: Any, out: Any, group: Any) -> Any:
    best = out[group]
    ties = (input == best) | (np.isnan(input) & np.isnan(best))
    return (ties / np.maximum(np.bincount(group, ties)[group], 1)).astype(input.dtype)


segment_share = declare(
    "segment_share(input, out, group)",
    _segment_share,
    complex=False,
    examples=["4, 1, 4:int<1"],
    doc="""1 / their number for the elements that equal their segment's extremum, 0 else.""",
)

_segment_extreme = {
    name: declare(
        f"segment_{name}(input, group)",
        _reduced(ufunc, name),
        input=lambda xp, g, input, out, group: shared(
            xp, xp.index(g, group, dims=(0,)), xp.segment_share(input, out, group)
        ),
        complex=False,
        examples=LINES,
        node_name="ScatterReduceBackward0",
        doc=f"""The {name} of each segment: NOTE [Segments].""",
    )
    for name, ufunc in (("amax", np.maximum), ("amin", np.minimum))
}


def _by_segment(
    input: Tensor, dim: int, index: Any, src: Tensor, reduce: str, include_self: bool
) -> Tensor:
    """NOTE [Segments] for a product or an extremum; `index` is an array with the shape of `src`."""
    shape = input._array.shape
    places = flat_places(np.atleast_1d(index), dim, shape or (1,)) if index.size else index.ravel()
    stays = table(places, np.arange(input._array.size))
    line = input.reshape(-1)
    if not include_self and places.size:  # only what nothing is scattered to stays
        stays = np.setdiff1d(stays, places)
        line = line[new_tensor(stays)]
    goal = np.concatenate([stays, places])
    order = np.argsort(goal, kind="stable")
    line = cat([line, src.reshape(-1)])[new_tensor(order)]
    group = new_tensor(goal[order])  # every place occurs, so these are the segments' numbers
    op = _segment_prod if reduce == "prod" else _segment_extreme[reduce]
    return as_non_view(op(line, group).reshape(shape))


def _mean(input: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool) -> Tensor:
    """The sum over the number of summands; integers round down."""
    total = scatter_add(_start(input, dim, index, include_self), dim, index, src)
    is_integer = input._array.dtype.kind in "biu"
    kind = np.dtype(np.int64) if is_integer else dtypes.real_of(input._array.dtype)
    ones = full(src._array, src._array.shape, 1, kind)
    start = full(input._array, input._array.shape, int(include_self), kind)
    number = scatter_add(new_tensor(start), dim, index, new_tensor(ones)).clamp(min=1)
    if is_integer:
        return div(total, number, rounding_mode="floor").to(input.dtype)
    return div(total, number)


def _start(input: Tensor, dim: int, index: Tensor, include_self: bool) -> Tensor:
    """What sums start from: `input`, or zeros at the places that something is scattered to."""
    return input if include_self else input.scatter(dim, index, 0)


@public(out=True, methods="scatter_reduce scatter_reduce_")
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A copy where `src[i][j]` is reduced into `out[index[i][j]][j]` for `dim` 0, and likewise.

    `reduce` is "sum", "prod", "mean", "amax" (or "max") or "amin" (or "min"); without
    `include_self` the tensor's own values there take no part. Integer means round down. Equal
    extrema share the cotangent evenly; those of complex numbers are of the modulus, unless `by`
    says otherwise. Raises RuntimeError for shapes, dtypes and indices that do not fit.

    >>> x, i = rg.tensor([1.0, 2.0]), rg.tensor([0, 0])
    >>> rg.scatter_reduce(x, 0, i, rg.tensor([3.0, 5.0]), "prod")
    tensor([15.,  2.])
    """
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    place = check_along(input, index, dim, "scatter_reduce", src)
    index = of_dims(index, input._array.ndim)
    source = cut(input, src, index, "scatter_reduce", True)
    return name_node(
        _reduce(input, place, index, source, reduce, include_self), "ScatterReduceBackward0"
    )


def _reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool
) -> Tensor:
    """`scatter_reduce` of checked arguments."""
    if not has_values(input._array):  # all have one shape
        return scatter_add(input, dim, index, src)
    if reduce == "sum":
        return scatter_add(_start(input, dim, index, include_self), dim, index, src)
    if reduce == "mean":
        return _mean(input, dim, index, src, include_self)
    src = grad_as_it_lies(src)
    if include_self and reduce != "prod":
        input = grad_as_it_lies(input)
    return _by_segment(input, dim, index._array, src, reduce, include_self)


@public(out=True, methods="index_reduce index_reduce_")
def index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """A copy in which the entries of `source` are reduced into the entries `index` of `dim`.

    `index` is a vector with one number per entry of `source` along `dim`; `reduce` is "prod",
    "mean", "amax" or "amin", and all else as for `scatter_reduce`. Raises RuntimeError for another
    `reduce`.

    >>> x, i = rg.tensor([1.0, 2.0]), rg.tensor([0, 0])
    >>> rg.index_reduce(x, 0, i, rg.tensor([3.0, 5.0]), "amax")
    tensor([5., 2.])
    """
    if not input._array.ndim:
        return name_node(
            as_vector(index_reduce, input, dim, index, source, reduce, include_self=include_self),
            "IndexReduceBackward0",
        )
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    place, vector = entries(input, dim, index, source, "index_reduce")
    lined = [-1 if d == place else 1 for d in range(input._array.ndim)]
    expanded = vector.reshape(lined).expand(source._array.shape)
    return name_node(
        _reduce(input, place, expanded, source, reduce, include_self), "IndexReduceBackward0"
    )


EMPTY = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "min": np.inf}


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """The sum, mean, product, maximum or minimum of consecutive entries along `axis`.

    `reduce` is "sum", "mean", "prod", "max" or "min". lengths: how many entries each segment has,
    of shape (*data.shape[:axis], segments); or offsets, where each begins and the last one ends.
    `initial` takes part in each segment; an empty one gives it, else 0, NaN, 1, -inf or inf. Equal
    extrema share the cotangent evenly; those of complex numbers are of the modulus, and 0 for the
    maximum of an empty segment. Raises RuntimeError for segments that do not cover the axis, unless
    `unsafe`, NotImplementedError for integers.

    >>> rg.segment_reduce(rg.tensor([1.0, 2.0, 4.0]), "max", lengths=rg.tensor([2, 0, 1]))
    tensor([2., -inf, 4.])
    """
    sizes, starts = _segments(data, lengths, indices, offsets, axis, unsafe)
    if reduce not in EMPTY and reduce != "max":
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, max or min, got {reduce}"
        )
    if data._array.dtype.kind not in "fcV":
        raise NotImplementedError(f"segment_reduce() of {data.dtype}: convert first, x.float()")
    rows, count = sizes.reshape(-1, sizes.shape[-1]), data._array.shape[axis]
    covered = rows.sum(-1)
    flat = data.flatten(0, axis) if axis else data
    if any(covered != count):
        places = [
            row * count + np.arange(start, start + n)
            for row, (start, n) in enumerate(zip(starts.reshape(-1), covered, strict=True))
        ]
        flat = flat[new_tensor(np.concatenate(places))]
    number = new_tensor(np.repeat(np.arange(rows.size), rows.reshape(-1)))
    start = EMPTY.get(reduce, least(data._array)) if initial is None else initial
    shape = (rows.size, *flat._array.shape[1:])
    first = new_tensor(np.full(shape, start, data._array.dtype))
    if reduce in ("sum", "mean"):
        found = first.index_add(0, number, flat)
    elif reduce == "prod":
        found = index_reduce(first, 0, number, flat, "prod")
    else:
        found = index_reduce(first, 0, number, flat, f"a{reduce}", include_self=False)
        if initial is not None:  # takes part, with no share of the cotangent where it is equal
            best = {"max": maximum, "min": minimum}[reduce](found.detach(), first)
            found = where(found.eq(best) | (found.isnan() & best.isnan()), found, best)
    if reduce == "mean":  # an initial value counts in the sum, not in the number
        divisor = rows.reshape(-1) if initial is None else np.maximum(rows.reshape(-1), 1)
        lined = divisor.reshape(-1, *[1] * (len(shape) - 1)).astype(data._array.real.dtype)
        found = found / new_tensor(lined)
    return name_node(found.reshape((*sizes.shape, *shape[1:])), "SegmentReduceBackward0")


def _segments(
    data: Tensor, lengths: Any, indices: Any, offsets: Any, axis: int, unsafe: bool
) -> Any:
    """The entries in each segment, and where the first of each row begins; errors as there."""
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if lengths is None:
        sizes, starts = np.diff(offsets._array), offsets._array[..., 0]
    else:
        sizes, starts = lengths._array, np.zeros(lengths._array.shape[:-1], np.int64)
    if sizes.ndim != axis + 1 or sizes.shape[:-1] != data._array.shape[:axis]:
        raise RuntimeError(
            f"segment_reduce(): expected lengths of shape {[*data.shape[:axis], 'segments']} for "
            f"data of shape {list(data.shape)} along axis {axis}, got {list(sizes.shape)}"
        )
    if sizes.size and sizes.min() < 0:
        raise RuntimeError("lengths contains negative value!")
    if lengths is not None and not unsafe and (sizes.sum(-1) != data._array.shape[axis]).any():
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to "
            f"data.size({axis}) when !unsafe."
        )
    ends = starts + sizes.sum(-1)
    if starts.size and (starts.min() < 0 or ends.max() > data._array.shape[axis]):
        raise RuntimeError(
            f"segment_reduce(): segments from {starts.min()} to {ends.max()} are out of bounds for "
            f"data of size {data._array.shape[axis]} along axis {axis}"
        )
    return sizes, starts
