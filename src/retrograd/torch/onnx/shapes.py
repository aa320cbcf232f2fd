"""Ops in ONNX that move elements: shapes, slices, joins, gathers; and sums over dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .graph import Graph, exports

FAR = np.iinfo(np.int64).max

exports(
    {
        "expand spread": lambda g, x: g.Expand(x, g.ints(*g.both("shape"))),
        "split": lambda g, x, *, dim: g.Split(
            x, g.ints(*g.both("sizes")), outputs=len(g.call.outputs), axis=dim
        ),
    },
    sized=True,
)
exports(
    {
        "permute": lambda g, x, *, dims: g.Transpose(x, perm=[int(dim) for dim in dims]),
        "squeeze": lambda g, x, *, dims: g.Squeeze(x, dims),
        "unsqueeze": lambda g, x, *, dims: g.Unsqueeze(x, dims),
        "stack": lambda g, *parts, dim: g.Concat(
            *[g.Unsqueeze(part, [dim]) for part in parts], axis=dim
        ),
        "unbind": lambda g, x, *, dim: [
            g.Gather(x, g.whole(place), axis=dim) for place in range(len(g.call.outputs))
        ],
        "flip": lambda g, x, *, dims: g.Slice(
            x, [-1] * len(dims), [-FAR] * len(dims), dims, [-1] * len(dims)
        ),
        "take_along": lambda g, x, index, *, dim: g.GatherElements(x, index, axis=dim),
        "scatter": lambda g, x, source, index, *, dim: g.ScatterElements(
            x, index, source, axis=dim, reduction="none"
        ),
        "scatter_add": lambda g, x, source, index, *, dim: g.ScatterElements(
            x, index, source, axis=dim, reduction="add"
        ),
        "tril": lambda g, x, *, diagonal: g.Trilu(x, g.whole(diagonal), upper=0),
        "triu": lambda g, x, *, diagonal: g.Trilu(x, g.whole(diagonal), upper=1),
        "cumsum": lambda g, x, *, dim, reverse: g.CumSum(
            g.cast(x, 0, g.dtype), g.whole(dim), reverse=int(reverse)
        ),
    }
)


@exports("reshape", sized=True)
def reshape(g: Graph, x: str) -> Any:
    """Export a reshape; one size that varies is what remains."""
    first, second = g.both("shape")
    free = [dim for dim, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
    if len(free) == 1:
        first = second = [-1 if dim in free else size for dim, size in enumerate(first)]
    return g.Reshape(x, g.ints(first, second), allowzero=int(0 in first))


@exports("transpose", "t", "adjoint")
def transpose(g: Graph, x: str, *, dim0: int = -2, dim1: int = -1) -> Any:
    """Two dimensions exchanged, by default the last two."""
    order = list(range(g.rank))
    if len(order) > 1:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return g.Transpose(x, perm=order)


@exports("slice", "select", "new_axis", sized=True)
def index(g: Graph, x: str) -> Any:
    """Slices, single places, new dimensions."""
    place = 0
    gone: list[int] = []
    added: list[int] = []
    cuts: list[Any] = []
    for at, again in zip(*g.both("index"), strict=True):
        if at is None:
            added.append(place - len(gone) + len(added))
            continue
        if isinstance(at, slice):
            if at != slice(None):
                cuts.append((place, at, again))
        else:
            whole = slice(at, at + 1 or None), slice(again, again + 1 or None)
            cuts.append((place, *whole))
            gone.append(place)
        place += 1
    if cuts:
        axes, *both = zip(*cuts, strict=True)
        starts = g.ints(*[[each.start or 0 for each in one] for one in both])
        stops = g.ints(*[[FAR if each.stop is None else each.stop for each in one] for one in both])
        x = g.Slice(x, starts, stops, axes, [each.step or 1 for each in both[0]])
    x = g.Squeeze(x, gone) if gone else x
    return g.Unsqueeze(x, added) if added else x


@exports("cat")
def cat(g: Graph, *parts: str, dim: int) -> Any:
    """Export `cat`: tensors one after the other."""
    kept = [
        name
        for name, value in zip(g.alike(parts, g.dtype), g.call.inputs, strict=True)
        if value.array.shape != (0,) or value.array.ndim == g.call.outputs[0].array.ndim
    ]
    return g.Concat(*kept, axis=dim)


@exports("repeat")
def repeat(g: Graph, x: str, *, repeats: Any) -> Any:
    """Export `repeat`: copies along dimensions."""
    if len(repeats) > g.rank:
        x = g.Unsqueeze(x, range(len(repeats) - g.rank))
    return g.Tile(x, repeats)


@exports("roll")
def roll(g: Graph, x: str, *, shifts: Any, dims: Any) -> Any:
    """Export `roll` along dimensions."""
    for by, dim in zip(shifts, dims, strict=True):
        if not by:
            continue
        if abs(by) > min(g.sizes(0, dim)):
            raise g.unsupported("a roll by more than the size")
        end = g.Slice(x, [-by], [FAR], [dim])
        x = g.Concat(end, g.Slice(x, [0], [-by], [dim]), axis=dim)
    return x


@exports("constant_pad_nd")
def pad(g: Graph, x: str, *, widths: Any, value: float) -> Any:
    """A value around, or fewer elements where a width is negative."""
    sides = np.array(widths, np.int64).T
    if np.any(sides < 0):
        begins, ends = np.maximum(-sides, 0)
        x = g.Slice(x, begins, np.where(ends > 0, -ends, FAR), range(g.rank))
    return g.Pad(x, np.maximum(sides, 0).reshape(-1), value)


@exports("embedding", "index_select", "index")
def gather(g: Graph, x: str, index: str, *, dim: int = 0, dims: Any = None) -> Any:
    """Rows by number; several of the first dimensions at once by numbers that lie together."""
    dims = (dim,) if dims is None else tuple(dims)
    if len(dims) == 1:
        return g.Gather(x, index, axis=int(dims[0]))
    if dims != tuple(range(len(dims))):
        raise g.unsupported(f"an index of the dimensions {dims}")
    last = [*range(1, g.call.inputs[1].array.ndim), 0]
    return g.GatherND(x, g.Transpose(index, perm=last))


# -- sums and the like -------------------------------------------------------------------------

REDUCTIONS = {
    "sum": "ReduceSum", "sum_dim": "ReduceSum", "mean": "ReduceMean", "mean_dim": "ReduceMean",
    "amax": "ReduceMax", "amin": "ReduceMin", "max": "ReduceMax", "min": "ReduceMin",
    "prod": "ReduceProd", "prod_dim": "ReduceProd", "logsumexp": "ReduceLogSumExp",
}  # fmt: skip


def dims_of(g: Graph, dim: Any) -> list[int]:
    """The dimensions that `dim` names: all of them if it is None."""
    dims = range(g.rank) if dim is None else [dim] if isinstance(dim, int) else dim
    return [int(each) % max(g.rank, 1) for each in dims]


@exports(*REDUCTIONS)
def reduction(g: Graph, x: str, *, dim: Any = None, keepdim: bool = False) -> Any:
    """Export a reduction along dimensions."""
    x = g.cast(x, 0, g.dtype)
    if not g.rank:
        return g.Identity(x)
    return g.op(REDUCTIONS[g.call.op.name], x, dims_of(g, dim), keepdims=int(keepdim))


@exports("var", "std", "var_mean", "std_mean")
def variance(g: Graph, x: str, *, dim: Any, keepdim: bool, correction: float) -> Any:
    """The mean square of what differs from the mean, with a correction of the count."""
    dims, keep = dims_of(g, dim), int(keepdim)
    off = g.Sub(x, g.ReduceMean(x, dims, keepdims=1))
    found = g.ReduceMean(g.Mul(off, off), dims, keepdims=keep)
    count = int(np.prod([g.fixed(0, dim) for dim in dims]))
    if correction:
        rest = max(count - correction, 0)
        found = g.Mul(found, count / rest if rest else np.inf)
    found = g.Sqrt(found) if g.call.op.name.startswith("std") else found
    if not g.call.op.name.endswith("mean"):
        return found
    return found, g.ReduceMean(x, dims, keepdims=keep)


@exports("vector_norm")
def norm(g: Graph, x: str, *, ord: float, dim: Any, keepdim: bool) -> Any:
    """The norms of order 1 and 2, the number of what is not 0, and others by powers."""
    dims, keep = dims_of(g, dim), int(keepdim)
    if ord == 0:
        return g.ReduceSum(g.to(g.Not(g.Equal(x, 0)), g.dtype), dims, keepdims=keep)
    if ord in (1, 2):
        return g.op(f"ReduceL{int(ord)}", x, dims, keepdims=keep)
    size = g.Abs(x)
    if abs(ord) == np.inf:
        return g.op("ReduceMax" if ord > 0 else "ReduceMin", size, dims, keepdims=keep)
    return g.Pow(g.ReduceSum(g.Pow(size, ord), dims, keepdims=keep), 1 / ord)


@exports("all", "any")
def logic(g: Graph, x: str, *, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether all elements are true, or one is."""
    x = g.to(g.cast(x, 0, np.dtype(bool)), np.int32)
    kind = "ReduceMin" if g.call.op.name == "all" else "ReduceMax"
    return g.to(g.op(kind, x, dims_of(g, dim), keepdims=int(keepdim)), bool)


@exports("argmax", "argmin")
def arg(g: Graph, x: str, *, dim: int | None, keepdim: bool) -> Any:
    """The first place of the largest or smallest element."""
    kind = f"Arg{g.call.op.name[3:].capitalize()}"
    if dim is not None:
        return g.op(kind, x, axis=dim, keepdims=int(keepdim))
    return g.op(kind, g.Reshape(x, [-1]), axis=0, keepdims=0)


@exports("max_dim", "min_dim")
def extreme(g: Graph, x: str, *, dim: Any, keepdim: bool) -> Any:
    """The largest or smallest element along a dimension, and its place."""
    dims, keep = dims_of(g, dim), int(keepdim)
    name = g.call.op.name[:3].capitalize()
    found = g.op(f"Reduce{name}", x, dims, keepdims=keep)
    return found, g.op(f"Arg{name}", x, axis=dims[0], keepdims=keep)


@exports("topk", "sort")
def topk(g: Graph, x: str, *, dim: int, largest: bool = False, descending: bool = False) -> Any:
    """The largest or smallest elements in order, and their places."""
    first, second = (each.outputs[0].array.shape[dim] for each in (g.call, g.again))
    first_ones = int(bool(largest or descending))
    return g.TopK(x, g.ints([first], [second]), outputs=2, axis=dim, largest=first_ones, sorted=1)
