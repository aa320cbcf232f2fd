"""Custom Functions within transforms: their tangents in forward mode, their calls on batches.

This module knows a Function only by its `context.Definition`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import dtypes, modes, pytree
from ..engine.namespaces import recorded
from ..engine.tensor import Tensor, cell_of, new_tensor, node_of
from ..engine.transforms.batch import Batch, is_batch
from ..engine.transforms.forward import set_tangent, tangent_of
from ..engine.views import base_of
from ..errors import UnbatchableError
from ..locks import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..engine.graph import Node
    from ..engine.transforms.batch import BatchLevel
    from .context import BackwardCFunction, Definition

OTHER_SIZE = (
    "Trying to set a forward gradient that has a different size than that of the original Tensor, "
    "this is not supported. Tensor is of size {} while the given forward gradient is of size {}."
)
JVP_NOT_IN_PLACE = (
    "An inplace custom Function is not modifying the forward mode gradients inplace. If the "
    "forward is modifying an input inplace, then the jvp function must modify the corresponding "
    "gradient inplace, and return it: return t.mul_(2)"
)
JVP_NO_VIEW = (
    "A custom Function's forward is returning a view (or an input as-is) but the jvp is not "
    "returning a view. Let it return the same view of the tangent: return t.view_as(t)"
)
JVP_OTHER_VIEW = (
    "A custom Function is returning a view but the jvp is not returning a view of the given grad "
    "input. Let it return the same view of the tangent that it gets."
)
JVP_OTHER_BASE = (
    "A custom Function is returning a view but the jvp is not returning a view of the same base as "
    "the given grad input. Let it return the same view of the tangent that it gets."
)
TWO_RULES = (
    "{0} has generate_vmap_rule=True and a vmap staticmethod: they are two rules for one thing. "
    "Delete one of them"
)
NO_RULE = "the custom Function {0} does not say how it runs on a batch"
SPLIT = "Split {0}.forward(ctx, ...) into forward(...) and setup_context(ctx, inputs, output)"
RULE = "Set generate_vmap_rule = True in {0}, or give it a static method vmap"
KEYWORD_TENSORS = (
    "vmap of an autograd.Function with kwarg-only Tensor args is not supported: {0}.vmap is told "
    "the batch dimension of arguments by position only. Let {0}.forward take them by position"
)


NO_DERIVATIVE = (
    "Function's jvp returned a gradient at position {}, but the corresponding forward output is "
    "not a differentiable Tensor. You should return None at that position instead."
)


class Inside(NamedTuple):
    """What transforms within a batched call know of a Function's arguments."""

    edges: tuple[Node | None, ...]  # of its tensors, None for those that belong outside
    levels: tuple[Any, ...]


class VmapInfo(NamedTuple):
    """What a Function's `vmap` is told of the call: the number of examples, and `randomness`."""

    batch_size: int
    randomness: str


def push_tangents(
    ctx: BackwardCFunction,
    args: Sequence[Any],
    outputs: Sequence[Any],
    marked: Sequence[int],
    levels: Sequence[Any],
) -> None:
    """Give the outputs of a Function the tangents that its `jvp` returns, level by level.

    Those at the places `marked`, and what is no floating or complex tensor, have none.
    `jvp` gets a tangent for each floating or complex tensor argument: zeros, or None without
    `materialize_grads`, where it has none; None for every other argument.
    """
    for place, level in enumerate(levels):
        known = [tangent_of(a, level) if isinstance(a, Tensor) else None for a in args]
        if all(t is None for t in known):
            continue
        with modes.Changed(levels=tuple(levels[:place])):
            given = [
                recorded.zeros_like(a) if t is None and ctx.materialize_grads and may_move(a) else t
                for a, t in zip(args, known, strict=True)
            ]
            before = [None if t is None else cell_of(t).version for t in given]
            ctx.lent = ctx.saved_for_forward
            try:
                found = ctx._forward_cls.jvp(ctx, *given)
            finally:
                ctx.lent = None
        found = found if isinstance(found, tuple) else (found,)
        for index, (out, t) in enumerate(zip(outputs, checked(found, outputs), strict=True)):
            if index in marked or not may_move(out):
                if t is not None:
                    raise RuntimeError(NO_DERIVATIVE.format(index))
                continue
            if t is not None and t._array.shape != out._array.shape:
                raise RuntimeError(OTHER_SIZE.format(list(out.shape), list(t.shape)))
            if level.writes_tangents:
                check_memory(out, t, args, given, before)
            set_tangent(out, level, t)
        node: Any = ctx._node()
        saved = {
            k: outputs[i]._tangents
            for k, i in enumerate(node.histories if node is not None else ())
            if isinstance(i, int)
        }
        if saved:
            level.keep(node, saved)


def may_move(value: Any) -> bool:
    """Whether an argument or an output can have a tangent."""
    return isinstance(value, Tensor) and dtypes.is_differentiable(value._array.dtype)


def check_memory(
    out: Tensor, t: Any, args: Sequence[Any], given: Sequence[Any], before: Sequence[Any]
) -> None:
    """Raise unless a tangent shares memory with an argument's as the output does with the argument.

    `given` are the tangents that `jvp` got, and `before` their versions then. Else a later write to
    one would miss the other.
    """
    for a, own, version in zip(args, given, before, strict=True):
        if not isinstance(a, Tensor) or own is None or t is None:
            continue
        if a is out and (t is not own or cell_of(own).version == version):
            raise RuntimeError(JVP_NOT_IN_PLACE)
        if a is out or out._view_of is None:
            continue
        if out._view_of.base is not base_of(a):
            continue
        if t._view_of is None:
            raise RuntimeError(JVP_NO_VIEW)
        if t._view_of.base is not base_of(own):
            raise RuntimeError(JVP_OTHER_VIEW if own._view_of is None else JVP_OTHER_BASE)


def checked(found: tuple[Any, ...], outputs: Sequence[Any]) -> tuple[Any, ...]:
    """What `jvp` returned, one tangent or None for each output."""
    if len(found) != len(outputs):
        raise RuntimeError(
            "Function's jvp returned an invalid number of forward gradients (expected "
            f"{len(outputs)} but got {len(found)})"
        )
    for index, t in enumerate(found):
        if t is not None and not isinstance(t, Tensor):
            raise RuntimeError(
                f"expected Variable or None (got {type(t).__name__}) for grad output {index}."
            )
    return found


def has_batch(args: Any) -> bool:
    """Whether one of the arguments is a batch, or a container of one."""
    return any(map(is_batch, pytree.flatten(args)))


def on_batches(
    cls: Definition, args: Sequence[Any], kwargs: dict[str, Any], with_setup: bool
) -> tuple[Any, Inside | None]:
    """Call a Function on batches by its `vmap`, or by the rule that `generated` makes for it.

    Without either, it runs once per example.
    `vmap` gets each batch as it was given to the batched call, and where its axis lies in that.
    Comes back with what a transform within that call differentiates, which is for the caller to
    record (NOTE [Batches], 2, in `engine.transforms.batch`), if it does.
    """
    leaves = pytree.flatten((args, kwargs))
    level = max((a._array.level for a in leaves if is_batch(a)), key=lambda each: each.depth)
    tensors = [a for a in args if isinstance(a, Tensor)]
    inside = Inside(
        tuple([node_of(a) if level.holds(a) else None for a in tensors]),
        tuple([each for each in modes.state.levels if each not in level.outer]),
    )
    differentiated = any(edge is not None for edge in inside.edges) or any(
        tangent_of(a, each) is not None for a in tensors for each in inside.levels
    )
    own = "vmap" in defined(cls)
    if own and cls.generate_vmap_rule:
        raise RuntimeError(TWO_RULES.format(cls._name))
    generated = cls.generate_vmap_rule and with_setup
    if not (own or generated) or (differentiated and not with_setup):
        advice = [] if with_setup else [SPLIT.format(cls._name)]
        if not (own or cls.generate_vmap_rule):
            advice.append(RULE.format(cls._name))
        raise UnbatchableError(NO_RULE.format(cls._name), advice=". ".join(advice))
    if any(isinstance(leaf, Tensor) for leaf in pytree.flatten(kwargs)):
        raise NotImplementedError(KEYWORD_TENSORS.format(cls._name))
    held = pytree.map_leaves(lambda a: a._array.given() if level.holds(a) else a, args)
    dims = pytree.map_leaves(
        lambda a: a._array.dim if level.holds(a) and not a._array.shared else None, tuple(args)
    )
    with modes.Changed(levels=level.outer):
        if all(dim is None for dim in pytree.flatten(dims)):  # all examples share the arguments
            output = cls.apply(*held, **kwargs)
            places: list[int | None] = [None] * len(pytree.flatten(output))
        else:
            info = VmapInfo(level.size, level.randomness or "error")
            rule: Any = cls.vmap
            if generated:
                rule = partial(load(".generated", __package__).on_examples, cls)
            output, places = of_rule(cls, rule(info, dims, *held, **kwargs))
        pairs = zip(pytree.flatten(args), pytree.flatten(held), strict=True)
        same = {id(own): a for a, own in pairs if differentiated and level.holds(a)}
        made = [  # what `vmap` was given and returns, as written, is the argument itself
            same[id(out)] if id(out) in same else as_batch(out, dim, level, differentiated)
            for out, dim in zip(pytree.flatten(output), places, strict=True)
        ]
    result = tuple(made) if isinstance(output, list) else pytree.unflatten(output, made)
    return result, inside if differentiated else None


def of_rule(cls: Definition, returned: Any) -> tuple[Any, list[int | None]]:
    """What a `vmap` returned: the output, and the batch dimension of each tensor in it."""
    if not (isinstance(returned, tuple) and len(returned) == 2):
        raise RuntimeError(
            f"Expected the vmap staticmethod of {cls._name} to have two returns, an output and its "
            f"out_dims, got {returned!r}. Write: return output, 0"
        )
    output, out_dims = returned
    try:
        return output, pytree.broadcast(out_dims, output)
    except ValueError:
        raise RuntimeError(
            f"The vmap staticmethod of {cls._name} returned an incompatible (output, out_dims): "
            f"expected one dimension or None for each output, got out_dims={out_dims!r} for "
            f"{len(pytree.flatten(output))} in {type(output).__name__}"
        ) from None


def as_batch(out: Any, dim: int | None, level: BatchLevel, differentiated: bool) -> Any:
    """An output as a batch; one that all examples share is a batch only if it gets a history."""
    if dim is not None:
        return new_tensor(Batch(to_front(out, dim), level))
    if differentiated and isinstance(out, Tensor):
        return new_tensor(Batch(out, level, shared=True))
    return out


def defined(cls: Any) -> set[str]:
    """The names that a Function's classes define, below `autograd.Function` itself."""
    above = cls.__mro__[: [base.__name__ for base in cls.__mro__].index("Function")]
    return {name for base in above for name in vars(base)}


def to_front(t: Tensor, dim: int) -> Tensor:
    """`t` with dimension `dim` first: `t` itself where it is."""
    ndim = t._array.ndim
    place = dim % ndim
    if not place:
        return t
    return recorded.permute(t, dims=(place, *[d for d in range(ndim) if d != place]))
