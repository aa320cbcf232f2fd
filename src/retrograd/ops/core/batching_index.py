"""How ops with integer indices run on a whole batch of examples; see `batching` for the others.

Indices of their own for each example become indices into all examples: one more index tensor, at
the batch axis, or one more count in front of flat positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...engine.dispatch import as_non_view
from ...engine.namespaces import arrays
from ...engine.tensor import new_tensor
from ...engine.transforms.rules import spread
from .batching import with_batch

# -- integer indices at some dimensions --------------------------------------------------------


def index(name: str) -> Callable[..., Any]:
    """The rule of `index`, its adjoint `index_spread`, `index_blank`, and their like."""

    def rule(xp: Any, size: int, inputs: Any, batched: Any, /, **params: Any) -> Any:
        x, at = inputs
        dims = params.get("dims", (params.get("dim"),))
        shape = params.get("shape")
        if not shape and x._array.ndim == batched[0]:
            return None
        if batched[1] or not adjacent(dims):
            x = spread(x, batched[0], size)
            if len(dims) == 1 and name != "index_blank":
                return (_spread_each if shape else _index_each)(xp, size, x, at, dims[0], shape)
            key, places = everywhere(xp, size, at, batched[1], dims)
            if name == "index_blank":
                return xp.index_blank(x, key, dims=places)
            if shape:
                x = inner_first(xp, x, at, dims, batched[1])
                return xp.index_spread(x, key, dims=places, shape=(size, *shape))
            return inner_back(xp, xp.index(x, key, dims=places), at, dims, batched[1])
        up = tuple([d + 1 for d in dims])
        moved = {**params, **({"dims": up} if "dims" in params else {"dim": up[0]})}
        if shape:
            moved["shape"] = (size, *shape)
        return getattr(xp, name)(x, at, **moved)

    return rule


def adjacent(dims: Sequence[int]) -> bool:
    """Whether indexed dimensions are neighbours; what is indexed then stays in their place."""
    return dims[-1] - dims[0] == len(dims) - 1


def index_ndim(at: Any, dims: Sequence[int], flag: bool) -> int:
    """The number of dimensions of one example's indices."""
    return at._array.ndim - flag - (len(dims) > 1)  # type: ignore[no-any-return]


def everywhere(
    xp: Any, size: int, at: Any, flag: bool, dims: Sequence[int]
) -> tuple[Any, tuple[int, ...]]:
    """The stacked indices of all examples, the batch axis among them, and their dimensions."""
    at = spread(at, flag, size)
    if len(dims) == 1:
        at = xp.unsqueeze(at, dims=(1,))
    inner = at._array.shape[2:]
    own = at.new_tensor(range(size)) if size else at.new_zeros(0)
    own = xp.expand(xp.reshape(own, shape=(size, 1, *(1,) * len(inner))), shape=(size, 1, *inner))
    key = xp.cat(own, at, dim=1)
    return xp.transpose(key, dim0=0, dim1=1), (0, *[d + 1 for d in dims])


def inner_back(xp: Any, out: Any, at: Any, dims: Sequence[int], flag: bool) -> Any:
    """Move what was indexed from behind the batch axis to where one example has it."""
    if not adjacent(dims) or not dims[0]:
        return out
    inner, first = index_ndim(at, dims, flag), dims[0]
    before = range(1 + inner, 1 + inner + first)
    after = range(1 + inner + first, out._array.ndim)
    return xp.permute(out, dims=(0, *before, *range(1, 1 + inner), *after))


def inner_first(xp: Any, x: Any, at: Any, dims: Sequence[int], flag: bool) -> Any:
    """Move what was indexed from where one example has it to behind the batch axis."""
    if not adjacent(dims) or not dims[0]:
        return x
    inner, first = index_ndim(at, dims, flag), dims[0]
    before, after = range(1, 1 + first), range(1 + first + inner, x._array.ndim)
    return xp.permute(x, dims=(0, *range(1 + first, 1 + first + inner), *before, *after))


def index_put(
    xp: Any, size: int, inputs: Any, batched: Any, /, *, dims: Any, accumulate: bool
) -> Any:
    """`index_put`: values that broadcast to the region get all its dimensions first."""
    x, values, at = inputs
    if x._array.ndim == batched[0]:
        return None
    x = spread(x, batched[0], size)
    inner = index_ndim(at, dims, batched[2])
    ndim = x._array.ndim - 1 - len(dims) + inner
    shape = values._array.shape[batched[1] :]
    lead = size if batched[1] else 1
    values = xp.reshape(values, shape=(lead, *(1,) * (ndim - len(shape)), *shape))
    if batched[2] or not adjacent(dims):
        values = inner_first(xp, values, at, dims, batched[2])
        at, dims = everywhere(xp, size, at, batched[2], dims)
    else:
        dims = tuple([d + 1 for d in dims])
    return xp.index_put(x, values, at, dims=dims, accumulate=accumulate)


def _rows_of_examples(xp: Any, size: int, at: Any, count: int) -> Any:
    """Indices into `count` rows of each example as indices into the rows of all."""
    at = xp.where(at < 0, at + count, at)
    starts = at.new_tensor(range(0, size * count, count)) if count else at.new_zeros(size)
    return at + xp.reshape(starts, shape=(size, *(1,) * (at._array.ndim - 1)))


def _index_each(xp: Any, size: int, x: Any, at: Any, dim: int, shape: Any) -> Any:
    """`x[..., at, ...]` with indices of its own for each example, at one dimension."""
    dim += 1
    rest = [d for d in range(1, x._array.ndim) if d != dim]
    turned = xp.permute(x, dims=(0, dim, *rest))
    count, *others = turned._array.shape[1:]
    rows = xp.reshape(turned, shape=(size * count, *others))
    out = xp.index(rows, _rows_of_examples(xp, size, at, count), dims=(0,))
    index_ndim = at._array.ndim - 1
    before = tuple(range(1 + index_ndim, index_ndim + dim))
    after = tuple(range(index_ndim + dim, out._array.ndim))
    return xp.permute(out, dims=(0, *before, *range(1, 1 + index_ndim), *after))


def _spread_each(xp: Any, size: int, x: Any, at: Any, dim: int, shape: Any) -> Any:
    """The adjoint of `_index_each`: values added up at indices of their own for each example."""
    index_ndim = at._array.ndim - 1
    before, after = range(1, 1 + dim), range(1 + dim + index_ndim, x._array.ndim)
    turned = xp.permute(x, dims=(0, *range(1 + dim, 1 + dim + index_ndim), *before, *after))
    count = shape[dim]
    others = tuple([n for d, n in enumerate(shape) if d != dim])
    rows = _rows_of_examples(xp, size, at, count)
    out = xp.index_spread(turned, rows, dims=(0,), shape=(size * count, *others))
    out = xp.reshape(out, shape=(size, count, *others))
    return xp.permute(out, dims=(0, *range(2, 2 + dim), 1, *range(2 + dim, out._array.ndim)))


def index_add(xp: Any, size: int, inputs: Any, batched: Any, /, *, dim: int) -> Any:
    """`index_add`: one index for all examples, or else what is added is put in its places first."""
    x, source, at = inputs
    ranks = [t._array.ndim - flag for t, flag in zip(inputs[:2], batched, strict=False)]
    if ranks[0] != ranks[1] or not ranks[0]:
        return None
    x, source = spread(x, batched[0], size), spread(source, batched[1], size)
    if not batched[2]:
        return xp.index_add(x, source, at, dim=dim + 1)
    added = _spread_each(xp, size, source, at, dim, x._array.shape[1:])
    return x + (
        added if added._array.dtype == x._array.dtype else xp.cast(added, dtype=x._array.dtype)
    )


def valued(name: str) -> Callable[..., Any]:
    """The rule of an op `(input, src, index)` along one dimension, where `src` may be 0-d."""

    def rule(xp: Any, size: int, inputs: Any, batched: Any, /, *, dim: int) -> Any:
        x, src, at = with_batch(size, inputs, batched)
        if x._array.ndim == 1 or at._array.ndim != x._array.ndim:
            return None
        if src._array.ndim == 1:
            src = xp.expand(
                xp.reshape(src, shape=(size, *(1,) * (at._array.ndim - 1))), shape=at._array.shape
            )
        return getattr(xp, name)(x, src, at, dim=dim + 1 if dim >= 0 else dim)

    return rule


# -- rows of a table ---------------------------------------------------------------------------


def embedding(name: str) -> Callable[..., Any]:
    """The rule of looking up rows: one table has indices of any shape, several are put in one."""

    def rule(
        xp: Any, size: int, inputs: Any, batched: Any, /, *, skip: Any, by_frequency: bool
    ) -> Any:
        table, at = inputs
        op = getattr(xp, name)
        if not batched[0] and not by_frequency:
            return op(table, at, skip=skip, by_frequency=False)
        if skip is not None:
            return None
        table, at = with_batch(size, inputs, batched)
        count, width = table._array.shape[1:]
        rows = xp.reshape(table, shape=(size * count, width))
        at = _rows_of_examples(xp, size, at, count)
        return op(rows, at, skip=None, by_frequency=by_frequency)

    return rule


def add_rows(
    xp: Any, size: int, inputs: Any, batched: Any, /, *, rows: int, skip: Any, by_frequency: bool
) -> Any:
    """The rule of the adjoint: every example has rows of its own in one table."""
    values, at = with_batch(size, inputs, batched)
    at = _rows_of_examples(xp, size, at, rows)
    out = xp.add_rows(values, at, rows=size * rows, skip=None, by_frequency=by_frequency)
    out = xp.reshape(out, shape=(size, rows, out._array.shape[1]))
    return out if skip is None else xp.index_blank(out, new_index([skip]), dims=(1,))


# -- flat positions ----------------------------------------------------------------------------

# Steps of a view's path that only choose and arrange elements.
ARRANGING = {
    "as_strided", "diagonal", "expand", "new_axis", "permute", "reshape", "select", "slice",
    "split", "squeeze", "t", "transpose", "unbind", "unfold", "unsqueeze",
}  # fmt: skip


def region_of(walk: Any, path: Any, shape: tuple[int, ...]) -> Any:
    """The flat positions that a view's path leads to, or None if it does more than arrange."""
    if any(op.name not in ARRANGING for op, _, _ in path):
        return None
    return walk(arrays, np.arange(math.prod(shape)).reshape(shape), path)


def blank(walk: Any) -> Callable[..., Any]:
    """The rule of `blank`; `walk` is how a path is followed."""

    def rule(xp: Any, size: int, inputs: Any, batched: Any, /, *, path: Any, layout: Any) -> Any:
        (x,) = inputs
        shape = x._array.shape
        region = region_of(walk, path, shape[1:])
        if region is None:
            return None
        flat = xp.reshape(x, shape=(size, math.prod(shape[1:])))
        at = new_index(region.ravel())
        return xp.reshape(xp.index_blank(flat, at, dims=(1,)), shape=shape)

    return rule


def splice(walk: Any) -> Callable[..., Any]:
    """The rule of `splice`; `walk` is how a path is followed."""

    def rule(xp: Any, size: int, inputs: Any, batched: Any, /, *, path: Any, layout: Any) -> Any:
        x, values = with_batch(size, inputs, batched)
        shape = x._array.shape
        region = region_of(walk, path, shape[1:])
        if region is None:
            return None
        flat = xp.reshape(x, shape=(size, math.prod(shape[1:])))
        if values._array.dtype != x._array.dtype:
            values = xp.cast(values, dtype=x._array.dtype)
        values = xp.reshape(values, shape=(size, region.size))
        at = new_index(region.ravel())
        out = xp.index_put(flat, values, at, dims=(1,), accumulate=False)
        return as_non_view(xp.reshape(out, shape=shape))

    return rule


def new_index(array: Any) -> Any:
    """A tensor of flat positions, int64 and contiguous."""
    return new_tensor(np.ascontiguousarray(array, np.int64))


def strided(xp: Any, size: int, inputs: Any, batched: Any, /, **how: Any) -> Any:
    """`as_strided` of all examples as one, each behind the one before."""
    (x,) = inputs
    return xp.as_strided(x, **behind(size, math.prod(x._array.shape[1:]), **how))


def unstrided(xp: Any, size: int, inputs: Any, batched: Any, /, *, shape: Any, **how: Any) -> Any:
    """`unstrided`, the adjoint of `as_strided`, of all examples as one."""
    (x,) = inputs
    return xp.unstrided(x, **behind(size, math.prod(shape), **how), shape=(size, *shape))


def behind(count: int, apart: int, *, size: Any, stride: Any, offset: int) -> dict[str, Any]:
    """The region that is one of `count` such regions, so many elements apart."""
    return {"size": (count, *size), "stride": (apart, *stride), "offset": offset}
