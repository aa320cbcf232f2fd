"""`scatter_reduce` and `index_reduce`: sums, means, products and extrema of what meets in a place.

NOTE [Segments]
Sums and means are `scatter_add`. For the others, the tensor's own elements and the scattered ones
are laid out in one line, sorted by the place they go to: each place is one segment of that line.
The records work on the line and `group`, the number of each element's segment, and know no indices.
The share of a factor in a product is the product of the others in its segment, from both sides by
`recur`, without a division: so derivatives hold to every order where factors are zero. Elements
that equal an extremum share its cotangent evenly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.dispatch import write_out
from ..engine.inplace import in_place
from ..engine.op import declare, example
from ..engine.tensor import Tensor, method, new_tensor
from .along import flat_places
from .arithmetic import div
from .extrema import ordered
from .join import cat
from .scatter import as_vector, check_along, cut, entries, scatter_add

__all__ = ["index_reduce", "scatter_reduce"]

LINES = [example("4, 4:int<1"), example("1, 1:int<1"), example("0, 0:int<1")]


def _reduced(ufunc: Any, name: str) -> Any:
    """The forward of a reduction of segments."""

    def forward(input: Any, group: Any) -> Any:
        if not input.size:
            return input.copy()
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        line = input if name == "prod" else ordered(input, f"scatter_reduce {name}")
        return ufunc.reduceat(line, starts, dtype=input.dtype)

    return forward


def _others(xp: Any, input: Any, group: Any) -> Any:
    """For each element, the product of all others in its segment."""
    number = group + 1
    first = xp.ne(number, xp.shift(number, dim=0, by=1))
    last = xp.ne(number, xp.shift(number, dim=0, by=-1))
    before = xp.mask_out(xp.shift(input, dim=0, by=1), first)
    after = xp.mask_out(xp.shift(input, dim=0, by=-1), last)
    from_left = xp.recur(first, before, dim=0, reverse=False)
    return from_left * xp.recur(last, after, dim=0, reverse=True)


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
    examples=[example("4, 1, 4:int<1")],
    doc="""1 / their number for the elements that equal their segment's extremum, 0 else.""",
)

_segment_extreme = {
    name: declare(
        f"segment_{name}(input, group)",
        _reduced(ufunc, name),
        input=lambda xp, g, input, out, group: (
            xp.index(g, group, dims=(0,)) * xp.segment_share(input, out, group)
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
    shape = input.array.shape
    places = flat_places(np.atleast_1d(index), dim, shape or (1,)) if index.size else index.ravel()
    own = np.arange(input.array.size)
    line = input.reshape(-1)
    if not include_self and places.size:  # only what nothing is scattered to stays
        own = np.setdiff1d(own, places)
        line = line[new_tensor(own)]
    goal = np.concatenate([own, places])
    order = np.argsort(goal, kind="stable")
    line = cat([line, src.reshape(-1)])[new_tensor(order)]
    group = new_tensor(goal[order])  # every place occurs, so these are the segments' numbers
    op = _segment_prod if reduce == "prod" else _segment_extreme[reduce]
    return op(line, group).reshape(shape)  # type: ignore[no-any-return]


def _mean(input: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool) -> Tensor:
    """The sum over the number of summands; integers round down."""
    total = scatter_add(_start(input, dim, index, include_self), dim, index, src)
    whole = input.array.dtype.kind in "biu"
    ones = np.ones(src.array.shape, np.int64 if whole else input.array.dtype)
    start = np.full(input.array.shape, int(include_self), ones.dtype)
    number = scatter_add(new_tensor(start), dim, index, new_tensor(ones)).clamp(min=1)
    if whole:
        return div(total, number, rounding_mode="floor").to(input.dtype)  # type: ignore[no-any-return]
    return div(total, number)


def _start(input: Tensor, dim: int, index: Tensor, include_self: bool) -> Tensor:
    """What sums start from: `input`, or zeros at the places that something is scattered to."""
    return input if include_self else input.scatter(dim, index, 0)  # type: ignore[no-any-return]


def scatter_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """A copy where `src[i][j]` is reduced into `out[index[i][j]][j]` for `dim` 0, and likewise.

    `reduce` is "sum", "prod", "mean", "amax" or "amin"; without `include_self` the tensor's own
    values there take no part. Integer means round down. Equal extrema share the cotangent evenly.
    Raises RuntimeError for shapes, dtypes and indices that do not fit, and for extrema of complex
    numbers. Source: PyTorch's `scatter_reduce`.

    >>> import retrograd as rg
    >>> x, i = rg.tensor([1.0, 2.0]), rg.tensor([0, 0])
    >>> rg.scatter_reduce(x, 0, i, rg.tensor([3.0, 5.0]), "prod")
    tensor([15.,  2.])
    """
    if out is not None:
        params = {"include_self": include_self}
        return write_out(scatter_reduce, out, (input, dim, index, src, reduce), params)  # type: ignore[no-any-return]
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    place = check_along(input, index, dim, "scatter_reduce", src)
    source = cut(input, src, index, "scatter_reduce", True)
    return _reduce(input, place, index, source, reduce, include_self)


def _reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool
) -> Tensor:
    """`scatter_reduce` of checked arguments."""
    if reduce == "sum":
        return scatter_add(_start(input, dim, index, include_self), dim, index, src)
    if reduce == "mean":
        return _mean(input, dim, index, src, include_self)
    return _by_segment(input, dim, index.array, src, reduce, include_self)


def index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """A copy in which the entries of `source` are reduced into the entries `index` of `dim`.

    `index` is a vector with one number per entry of `source` along `dim`; `reduce` is "prod",
    "mean", "amax" or "amin", and all else as for `scatter_reduce`. Source: PyTorch's
    `index_reduce`.

    >>> import retrograd as rg
    >>> x, i = rg.tensor([1.0, 2.0]), rg.tensor([0, 0])
    >>> rg.index_reduce(x, 0, i, rg.tensor([3.0, 5.0]), "amax")
    tensor([5., 2.])
    """
    if not input.array.ndim:
        return as_vector(index_reduce, input, dim, index, source, reduce, include_self=include_self)
    if out is not None:
        params = {"include_self": include_self}
        return write_out(index_reduce, out, (input, dim, index, source, reduce), params)  # type: ignore[no-any-return]
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    place, vector = entries(input, dim, index, source, "index_reduce")
    lined = [-1 if d == place else 1 for d in range(input.array.ndim)]
    wide = vector.reshape(lined).expand(source.array.shape)
    return _reduce(input, place, wide, source, reduce, include_self)


for function in (index_reduce, scatter_reduce):
    method(function)
    method(in_place(function))
