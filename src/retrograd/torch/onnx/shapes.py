"""Ops in ONNX that move elements: shapes, slices, joins, gathers; and sums over dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .elementwise import dtype_of, number
from .graph import Graph, exports
from .tracing import Call

FAR = np.iinfo(np.int64).max


def rank(call: Call) -> int:
    """The number of dimensions of the first input."""
    return int(call.inputs[0].array.ndim)


@exports("reshape", sized=True)
def reshape(g: Graph, call: Call, x: str) -> Any:
    """Another shape; one size that varies is what remains."""
    first, second = call.params["shape"], g.again.params["shape"]
    free = [dim for dim, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
    if len(free) == 1:
        first = second = [-1 if dim in free else size for dim, size in enumerate(first)]
    return g.op("Reshape", x, g.ints(first, second), allowzero=int(0 in first))


@exports("expand", "spread", sized=True)
def expand(g: Graph, call: Call, x: str) -> Any:
    """More of the same along dimensions."""
    first, second = call.params["shape"], g.again.params["shape"]
    return g.op("Expand", x, g.ints(first, second))


@exports("permute")
def permute(g: Graph, call: Call, x: str) -> Any:
    """Dimensions in another order."""
    return g.op("Transpose", x, perm=[int(dim) for dim in call.params["dims"]])


@exports("transpose", "t", "adjoint")
def transpose(g: Graph, call: Call, x: str) -> Any:
    """Two dimensions exchanged, by default the last two."""
    order = list(range(rank(call)))
    a, b = (call.params.get("dim0", -2), call.params.get("dim1", -1)) if len(order) > 1 else (0, 0)
    if order:
        order[a], order[b] = order[b], order[a]
    return g.op("Transpose", x, perm=order)


@exports("squeeze", "unsqueeze")
def squeeze(g: Graph, call: Call, x: str) -> Any:
    """Dimensions of size 1 taken away, or put in."""
    kind = call.op.name.capitalize()
    return g.op(kind, x, g.constant(call.params["dims"], np.int64))


@exports("slice", "select", "new_axis", sized=True)
def index(g: Graph, call: Call, x: str) -> Any:
    """Slices, single places, new dimensions."""
    pairs = list(zip(call.params["index"], g.again.params["index"], strict=True))
    place = 0
    gone: list[int] = []
    added: list[int] = []
    cuts: list[Any] = []
    for at, again in pairs:
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
        starts = g.ints([a.start or 0 for _, a, _ in cuts], [b.start or 0 for *_, b in cuts])
        stops = g.ints(*[[FAR if s.stop is None else s.stop for s in column] for column in
                         ([a for _, a, _ in cuts], [b for *_, b in cuts])])  # fmt: skip
        axes = g.constant([dim for dim, *_ in cuts], np.int64)
        steps = g.constant([a.step or 1 for _, a, _ in cuts], np.int64)
        x = g.op("Slice", x, starts, stops, axes, steps)
    if gone:
        x = g.op("Squeeze", x, g.constant(gone, np.int64))
    return x if not added else g.op("Unsqueeze", x, g.constant(added, np.int64))


@exports("cat")
def cat(g: Graph, call: Call, *parts: str) -> Any:
    """One after the other."""
    dtype = dtype_of(call)
    parts = tuple(
        g.cast(name, value.array.dtype, dtype)
        for name, value in zip(parts, call.inputs, strict=True)
        if value.array.shape != (0,) or value.array.ndim == call.outputs[0].array.ndim
    )
    return g.op("Concat", *parts, axis=call.params["dim"])


@exports("stack")
def stack(g: Graph, call: Call, *parts: str) -> Any:
    """One beside the other, along a new dimension."""
    dim = g.constant([call.params["dim"]], np.int64)
    return g.op("Concat", *[g.op("Unsqueeze", part, dim) for part in parts],
                axis=call.params["dim"])  # fmt: skip


@exports("split", sized=True)
def split(g: Graph, call: Call, x: str) -> Any:
    """Parts along a dimension."""
    sizes, count = call.params["sizes"], len(call.outputs)
    dims = g.ints(sizes, g.again.params["sizes"])
    return g.op("Split", x, dims, outputs=count, axis=call.params["dim"])


@exports("unbind")
def unbind(g: Graph, call: Call, x: str) -> Any:
    """The slice at each place of a dimension."""
    dim, count = call.params["dim"], len(call.outputs)
    return [g.op("Gather", x, g.constant(place, np.int64), axis=dim) for place in range(count)]


@exports("repeat")
def repeat(g: Graph, call: Call, x: str) -> Any:
    """Copies along dimensions."""
    repeats = call.params["repeats"]
    if len(repeats) > rank(call):
        x = g.op("Unsqueeze", x, g.constant(range(len(repeats) - rank(call)), np.int64))
    return g.op("Tile", x, g.constant(repeats, np.int64))


@exports("flip")
def flip(g: Graph, call: Call, x: str) -> Any:
    """Backwards along dimensions."""
    dims = call.params["dims"]
    start, end, by = ([n] * len(dims) for n in (-1, -FAR, -1))
    vectors = [g.constant(each, np.int64) for each in (start, end, dims, by)]
    return g.op("Slice", x, *vectors)


@exports("roll")
def roll(g: Graph, call: Call, x: str) -> Any:
    """Round and round along dimensions."""
    for by, dim in zip(call.params["shifts"], call.params["dims"], strict=True):
        if not by:
            continue
        if abs(by) > min(g.sizes(0, dim)):
            raise g.unsupported("a roll by more than the size")
        axis, cut = g.constant([dim], np.int64), g.constant([-by], np.int64)
        end = g.op("Slice", x, cut, g.constant([FAR], np.int64), axis)
        start = g.op("Slice", x, g.constant([0], np.int64), cut, axis)
        x = g.op("Concat", end, start, axis=dim)
    return x


@exports("constant_pad_nd")
def pad(g: Graph, call: Call, x: str) -> Any:
    """A value around, or fewer elements where a width is negative."""
    widths = np.array(call.params["widths"], np.int64).T
    if np.any(widths < 0):
        begins, ends = np.maximum(-widths, 0)
        ends = np.where(ends > 0, -ends, FAR)
        axes = g.constant(np.arange(rank(call)))
        x = g.op("Slice", x, g.constant(begins), g.constant(ends), axes)
    around = g.constant(np.maximum(widths, 0).reshape(-1))
    return g.op("Pad", x, around, number(g, call, call.params["value"]))


@exports("embedding", "index_select", "index")
def gather(g: Graph, call: Call, x: str, index: str) -> Any:
    """Rows by number; several of the first dimensions at once by numbers that lie together."""
    dims = call.params.get("dims", (call.params.get("dim", 0),))
    if len(dims) == 1:
        return g.op("Gather", x, index, axis=int(dims[0]))
    if tuple(dims) != tuple(range(len(dims))):
        raise g.unsupported(f"an index of the dimensions {tuple(dims)}")
    last = [*range(1, call.inputs[1].array.ndim), 0]
    return g.op("GatherND", x, g.op("Transpose", index, perm=last))


@exports("take_along")
def take_along(g: Graph, call: Call, x: str, index: str) -> Any:
    """Elements by number along a dimension."""
    return g.op("GatherElements", x, index, axis=call.params["dim"])


@exports("scatter", "scatter_add")
def scatter(g: Graph, call: Call, x: str, source: str, index: str) -> Any:
    """Elements put, or added, by number along a dimension."""
    how = "add" if call.op.name == "scatter_add" else "none"
    return g.op("ScatterElements", x, index, source, axis=call.params["dim"], reduction=how)


@exports("tril", "triu")
def triangle(g: Graph, call: Call, x: str) -> Any:
    """One side of a diagonal."""
    offset = g.constant(call.params["diagonal"], np.int64)
    return g.op("Trilu", x, offset, upper=int(call.op.name == "triu"))


# -- sums and the like -------------------------------------------------------------------------

REDUCTIONS = {
    "sum": "ReduceSum", "sum_dim": "ReduceSum", "mean": "ReduceMean", "mean_dim": "ReduceMean",
    "amax": "ReduceMax", "amin": "ReduceMin", "max": "ReduceMax", "min": "ReduceMin",
    "prod": "ReduceProd", "prod_dim": "ReduceProd", "logsumexp": "ReduceLogSumExp",
}  # fmt: skip


def dims_of(call: Call) -> list[int]:
    """The dimensions that go."""
    dims = call.params.get("dim")
    dims = range(rank(call)) if dims is None else [dims] if isinstance(dims, int) else dims
    return [int(dim) % max(rank(call), 1) for dim in dims]


@exports(*REDUCTIONS)
def reduction(g: Graph, call: Call, x: str) -> Any:
    """One number for all elements along dimensions."""
    x = g.cast(x, call.inputs[0].array.dtype, dtype_of(call))
    if not rank(call):
        return g.op("Identity", x)
    keep = int(call.params.get("keepdim", False))
    axes = g.constant(dims_of(call), np.int64)
    return g.op(REDUCTIONS[call.op.name], x, axes, keepdims=keep)


@exports("var", "std", "var_mean", "std_mean")
def variance(g: Graph, call: Call, x: str) -> Any:
    """The mean square of what differs from the mean, with a correction of the count."""
    dims, keep = dims_of(call), int(call.params["keepdim"])
    axes = g.constant(dims, np.int64)
    off = g.op("Sub", x, g.op("ReduceMean", x, axes, keepdims=1))
    found = g.op("ReduceMean", g.op("Mul", off, off), axes, keepdims=keep)
    count = int(np.prod([g.fixed(0, dim) for dim in dims]))
    if call.params["correction"]:
        rest = max(count - call.params["correction"], 0)
        factor = count / rest if rest else np.inf
        found = g.op("Mul", found, number(g, call, factor))
    found = g.op("Sqrt", found) if call.op.name.startswith("std") else found
    if not call.op.name.endswith("mean"):
        return found
    return found, g.op("ReduceMean", x, axes, keepdims=keep)


@exports("vector_norm")
def norm(g: Graph, call: Call, x: str) -> Any:
    """The norms of order 1 and 2, the number of what is not 0, and others by powers."""
    order, keep = call.params["ord"], int(call.params["keepdim"])
    axes = g.constant(dims_of(call), np.int64)
    if order == 0:
        there = g.op("Not", g.op("Equal", x, number(g, call, 0)))
        x, order = g.cast(there, np.dtype(bool), dtype_of(call)), 1
    if order in (1, 2):
        return g.op(f"ReduceL{int(order)}", x, axes, keepdims=keep)
    size = g.op("Abs", x)
    if abs(order) == np.inf:
        return g.op("ReduceMax" if order > 0 else "ReduceMin", size, axes, keepdims=keep)
    powers = g.op("ReduceSum", g.op("Pow", size, number(g, call, order)), axes, keepdims=keep)
    return g.op("Pow", powers, number(g, call, 1 / order))


@exports("all", "any")
def logic(g: Graph, call: Call, x: str) -> Any:
    """Whether all elements are true, or one is."""
    x = g.cast(
        g.cast(x, call.inputs[0].array.dtype, np.dtype(bool)), np.dtype(bool), np.dtype(np.int32)
    )
    kind = "ReduceMin" if call.op.name == "all" else "ReduceMax"
    keep = int(call.params.get("keepdim", False))
    found = g.op(kind, x, g.constant(dims_of(call), np.int64), keepdims=keep)
    return g.cast(found, np.dtype(np.int32), np.dtype(bool))


@exports("argmax", "argmin")
def arg(g: Graph, call: Call, x: str) -> Any:
    """The first place of the largest or smallest element."""
    kind, dim = f"Arg{call.op.name[3:].capitalize()}", call.params["dim"]
    keep = int(call.params["keepdim"])
    if dim is not None:
        return g.op(kind, x, axis=dim, keepdims=keep)
    flat = g.op("Reshape", x, g.constant([-1], np.int64))
    return g.op(kind, flat, axis=0, keepdims=0)


@exports("max_dim", "min_dim")
def extreme(g: Graph, call: Call, x: str) -> Any:
    """The largest or smallest element along a dimension, and its place."""
    (dim,), keep = dims_of(call), int(call.params["keepdim"])
    name = call.op.name[:3].capitalize()
    found = g.op(f"Reduce{name}", x, g.constant([dim], np.int64), keepdims=keep)
    return found, g.op(f"Arg{name}", x, axis=dim, keepdims=keep)


@exports("topk", "sort")
def topk(g: Graph, call: Call, x: str) -> Any:
    """The largest or smallest elements in order, and their places."""
    p = call.params
    largest = p.get("largest", p.get("descending"))
    first, second = (each.outputs[0].array.shape[p["dim"]] for each in (call, g.again))
    count = g.ints([first], [second])
    return g.op("TopK", x, count, outputs=2, axis=p["dim"], largest=int(bool(largest)), sorted=1)


@exports("cumsum")
def cumsum(g: Graph, call: Call, x: str) -> Any:
    """Sums so far."""
    x = g.cast(x, call.inputs[0].array.dtype, dtype_of(call))
    dim = g.constant(call.params["dim"], np.int64)
    return g.op("CumSum", x, dim, reverse=int(call.params["reverse"]))
