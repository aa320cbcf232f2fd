"""Rules for ops of nested tensors: NOTE [Layouts] in `layouts.layout`.

At least one input of a rule is nested. Dimension d of a nested tensor is d - 1 of its values and of
its components.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ....engine.registry import OPS, name_node
from ....engine.tensor import Tensor
from ....ops.shape.join import cat, stack
from ...sheets import said
from .array import Nested, gathered, is_nested, parts_of, refused, values_of_nested, with_pattern
from .pattern import Jagged, Ragged

if TYPE_CHECKING:
    from ....engine.op import Op

__all__ = ["along", "inner", "live", "matched", "on_values"]

MISMATCH = "cannot call binary pointwise function {} with inputs of shapes {} and {}"
ALONG_BATCH = (
    "{0}(): reducing along the batch dimension but not the ragged dimension is not supported for "
    "nested tensors. Reduce the components: stack([t.{0}(...) for t in nt.unbind()])"
)


def live(nt: Tensor) -> Tensor:
    """The values of a nested tensor without what lies between its components."""
    pattern = nt._array.pattern
    if isinstance(pattern, Jagged) and pattern.lengths is not None:
        return cat(parts_of(nt), pattern.ragged - 1)
    return values_of_nested(nt)


def inner(nt: Tensor, dim: int, name: str, ragged: bool = False) -> int:
    """The dimension of values for one of a nested tensor, counted from either end.

    Raises RuntimeError for the dimension of the components, and, unless `ragged`, for one in which
    they differ.
    """
    place = dim % nt.ndim
    if not place:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim=0")
    if not ragged and isinstance(nt._array.shape[place], Ragged):
        raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
    return place - 1


def along(nt: Tensor, dims: Any, function: Any, ragged: int | None = None) -> Any:
    """The result of a function that works along these dimensions of the components.

    In the jagged layout it is that of the values, unless the ragged dimension is among them; that
    is number `ragged` in what it gives, by default where it was.
    """
    pattern = nt._array.pattern
    if isinstance(pattern, Jagged) and pattern.ragged - 1 not in dims:
        return rewrapped(function(values_of_nested(nt)), pattern.at(ragged or pattern.ragged))
    found = [function(part) for part in parts_of(nt)]
    if isinstance(found[0], tuple):
        return tuple([gathered(list(parts), pattern) for parts in zip(*found, strict=True)])
    return gathered(found, pattern)


def rewrapped(found: Any, pattern: Any) -> Any:
    """Values, or several of them, as nested tensors."""
    if isinstance(found, tuple):
        return tuple([with_pattern(each, pattern) for each in found])
    return with_pattern(found, pattern)


# -- elementwise -----------------------------------------------------------------------------------


def matched(name: str, inputs: Any) -> tuple[Any, list[Any]]:
    """The pattern of nested operands, and values of all operands that fit each other.

    Raises RuntimeError for components of different sizes or from different offsets.
    """
    nested = [t for t in inputs if is_nested(t)]
    first = nested[0]
    pattern = first._array.pattern
    for other in nested[1:]:
        if other._array.pattern != pattern or other.ndim != first.ndim:
            shapes = [tuple(t._array.shape) for t in (first, other)]
            raise RuntimeError(MISMATCH.format(name, *shapes))
    fitted = [
        values_of_nested(t)
        if is_nested(t)
        else beside(first, t, name)
        if isinstance(t, Tensor)
        else t
        for t in inputs
    ]
    return pattern, fitted


def beside(nt: Tensor, t: Tensor, name: str) -> Tensor:
    """A plain tensor broadcast to the values of a nested one, of padded components taken there."""
    pattern, ndim = nt._array.pattern, nt.ndim
    if t.ndim == ndim > 0 and t.shape[0] == 1:
        t = t.squeeze(0)
    if not isinstance(pattern, Jagged):
        spread = t.unbind() if t.ndim == ndim and ndim else [t] * len(nt)
        parts = zip(parts_of(nt), spread, strict=True)
        return pattern.joined([each.expand(part.shape) for part, each in parts])[0] if t.ndim else t
    place = pattern.ragged - (ndim - t.ndim)
    sizes = {1} if t.ndim < ndim else {1, pattern.longest}  # of components that are padded
    if t.ndim > ndim or (place >= 0 and t.shape[place] not in sizes):
        raise RuntimeError(MISMATCH.format(name, tuple(nt._array.shape), tuple(t.shape)))
    if t.ndim < ndim:
        return t
    if t.shape[0] != len(nt):
        raise RuntimeError(MISMATCH.format(name, tuple(nt._array.shape), tuple(t.shape)))
    dim = pattern.ragged - 1
    room = values_of_nested(nt).shape[dim]
    if t.shape[place] == 1:
        rows, places = t.select(place, 0), pattern.owners(room)
    else:
        rows, places = t.movedim(place, 1).flatten(0, 1), pattern.places(room)
    return rows.movedim(0, dim).index_select(dim, places)


@Nested.rule("zeros_like")
def on_values(op: Op, *inputs: Any, **params: Any) -> Any:
    """The result of an op on the values alone, in the same pattern."""
    pattern, fitted = matched(op.name, inputs)
    return rewrapped(op.call(*fitted, **params), pattern)


@Nested.rule("embedding", "linear")
def of_rows(op: Op, first: Tensor, second: Tensor, *more: Any, **params: Any) -> Any:
    """Rows of a table by nested indices, or the last dimension mapped to another one."""
    if op.name == "embedding":
        return along(second, (), lambda x: op.call(first, x, **params))
    last = inner(first, -1, "linear")
    return along(first, (last,), lambda x: op.call(x, second, *more))


@Nested.rule("*")
def other(op: Op, *inputs: Any, **params: Any) -> Any:
    """The rule for any other op, by its kind: elementwise, a reduction, or along a dimension."""
    if op.elementwise or op.keeps:
        return on_values(op, *inputs, **params)
    if "keepdim" in params:
        return reduced(op, *inputs, **params)
    if not params and f"{op.name}_dim" in OPS:
        return named(op, op.call(live(inputs[0])))
    if "dim" in params and len(inputs) == 1 and op.name in ALONG:
        dim = params["dim"]
        dims = dim if isinstance(dim, tuple) else (dim,)
        places = tuple([inner(inputs[0], d, op.name, ragged=True) for d in dims])
        place = places if isinstance(dim, tuple) else places[0]
        return along(inputs[0], places, lambda x: op.call(x, **params | {"dim": place}))
    raise refused(op.name)


def named(op: Op, found: Tensor) -> Tensor:
    """A plain result, whose node is called as in PyTorch."""
    name = op.node_name
    return name_node(found, OWN_NAMES.get(name, name)) if isinstance(name, str) else found


OWN_NAMES = {
    name: name.replace("Backward", "BackwardAutogradNestedTensor")
    for name in ("SumBackward0", "SumBackward1", "MeanBackward0")
}
ALONG = said("along")


# -- reductions ------------------------------------------------------------------------------------


def reduced(op: Op, nt: Tensor, *, dim: Any, keepdim: bool, **params: Any) -> Any:
    """A reduction: dense where the ragged dimension goes, else nested."""
    pattern, ndim, name = nt._array.pattern, nt.ndim, op.name.removesuffix("_dim")
    if dim is None:
        return op.call(live(nt), dim=None, keepdim=keepdim, **params)
    dims = [d % ndim for d in (dim if isinstance(dim, tuple) else (dim,))]
    places = tuple([d - 1 for d in dims if d])

    def run(x: Tensor, at: Any = places) -> Any:
        return op.call(x, dim=at if isinstance(dim, tuple) else at[0], keepdim=keepdim, **params)

    if len(dims) == ndim and not keepdim:  # of all
        x = live(nt)
        return run(x, tuple(range(x.ndim)))
    if not isinstance(pattern, Jagged):
        if 0 in dims:
            raise RuntimeError(ALONG_BATCH.format(name))
        return along(nt, range(ndim), run)
    if pattern.ragged not in dims:
        if 0 in dims:
            raise RuntimeError(ALONG_BATCH.format(name))
        before = 0 if keepdim else sum(0 < d < pattern.ragged for d in dims)
        return along(nt, places, run, pattern.ragged - before)
    if 0 in dims:
        found = run(live(nt))
        return found.unsqueeze(0) if keepdim else found
    found = [run(part) for part in parts_of(nt)]
    if isinstance(found[0], tuple):
        return tuple([named(op, stack(each)) for each in zip(*found, strict=True)])
    return named(op, stack(found))


# -- dimensions ------------------------------------------------------------------------------------


@Nested.rule("permute", "squeeze", "transpose", "unsqueeze")
def rearranged(op: Op, input: Tensor, **params: Any) -> Any:
    """Dimensions in another order, or without some, or with more; that of components is first."""
    given = [value if isinstance(value, tuple) else (value,) for value in params.values()]
    named = list(itertools.chain(*given))
    if op.name == "permute" and named[0] == 0:
        named = named[1:]
    if 0 in named:
        kind = ValueError if op.name in ("permute", "transpose") else RuntimeError
        raise kind(f"{op.name.title()} is not supported on the batch dimension for jagged NT")
    lower = {
        name: tuple([d - 1 for d in value if d]) if isinstance(value, tuple) else value - 1
        for name, value in params.items()
    }
    pattern, ragged = input._array.pattern, None
    if isinstance(pattern, Jagged):
        sizes = [max(n, 1) for n in values_of_nested(input).shape]
        sizes[pattern.ragged - 1] = unlike = math.prod(sizes) + 1  # which no other one becomes
        shown = op.forward(np.broadcast_to(np.False_, sizes), **lower).shape
        ragged = shown.index(unlike) + 1
    return along(input, (), lambda x: op.call(x, **lower), ragged)


@Nested.rule("index_select", "split")
def sliced(op: Op, input: Tensor, *more: Any, dim: int, **params: Any) -> Any:
    """Parts along a dimension in which components do not differ."""
    place = inner(input, dim, op.name)
    return along(input, (place,), lambda x: op.call(x, *more, dim=place, **params))


@Nested.rule("cat", "stack")
def joined(op: Op, *tensors: Tensor, dim: int) -> Any:
    """Nested tensors of the same offsets one after the other, or along a new dimension."""
    pattern, values = matched(op.name, tensors)
    ragged = pattern.ragged if isinstance(pattern, Jagged) else None
    if op.name == "cat" and not dim and ragged is None:
        return gathered([part for t in tensors for part in parts_of(t)], pattern)
    if op.name == "stack" and not dim:
        raise RuntimeError("stack(): not supported for NestedTensor on dim=0")
    place = dim - 1 if op.name == "stack" else inner(tensors[0], dim, "cat")
    if ragged is None:
        each = zip(*map(parts_of, tensors), strict=True)
        return gathered([op.call(*parts, dim=place) for parts in each], pattern)
    moved = op.name == "stack" and dim <= ragged
    return with_pattern(op.call(*values, dim=place), pattern.at(ragged + moved))
