"""The batching rule of a custom Function with `generate_vmap_rule=True`: it runs once for a batch.

NOTE [Generated rules] `Vmapped` is a Function of all examples at once.
1. Its methods call the Function's own within a batched call (NOTE [Batches] in
   `engine.transforms.batch`). So the graph has one node for the batch, and one run of `backward`
   gives the gradients of all examples. `Vmapped` has such a rule itself: batches nest.
2. A batched call is over when a method returns. So what the Function keeps on its context is taken
   out of the batches, as tensors of all examples, and put into batches of the next call.
3. All outputs of `Vmapped` have the axis of the examples; where these share one, `on_examples`
   takes that of the first. The gradient by an argument that they share is the sum over them.
4. What cannot run in a batch raises `UnbatchableError` for the program's own batched call.
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from .. import pytree
from ..engine.backward.fitting import expands
from ..engine.namespaces import recorded
from ..engine.tensor import Tensor
from ..engine.transforms.batch import BatchLevel, batched, split
from ..errors import UnbatchableError
from .function import Function
from .transformed import to_front

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .context import Definition
    from .transformed import VmapInfo

DIRTY = "the custom Function {0} calls mark_dirty"
ONLY_OWN = "Give it a static method vmap: only that can say how a batch is written"


class Call:
    """What a call of a Function on a batch consists of, beside its positional arguments."""

    def __init__(
        self, function: Definition, info: VmapInfo, dims: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.function, self.info, self.dims, self.kwargs = function, info, dims, kwargs
        self.shared: list[bool] = []  # by output

    @contextmanager
    def level(self) -> Iterator[BatchLevel]:
        """A batched call: NOTE [Generated rules], 2 and 4."""
        level = BatchLevel(self.info.batch_size, self.info.randomness)
        try:
            with level:
                yield level
        except UnbatchableError as error:
            if error.level is level:
                error.level = None
            raise

    def examples(self, args: Sequence[Any], level: BatchLevel) -> tuple[Any, ...]:
        """The arguments as one example sees them."""
        given = tuple(args)
        pairs = zip(pytree.flatten(given), pytree.flatten(self.dims), strict=True)
        made = [Kept(leaf, dim).example(level) for leaf, dim in pairs]
        return pytree.unflatten(given, made)  # type: ignore[no-any-return]

    def context(self, ctx: Any, saved: Sequence[Any], level: BatchLevel) -> Any:
        """The context that the Function's own methods get, made of the batch's."""
        own = self.function._backward_cls()
        own.__dict__.update(
            {name: rebatched(value, level) for name, value in ctx.attributes.items()}
        )
        own.needs_input_grad = ctx.needs_input_grad[1:]
        own.lent = tuple([Kept(t, dim).example(level) for t, dim in saved])
        return own


class Kept:
    """A tensor of all examples and where their axis is, or None; any other value and None."""

    __slots__ = ("dim", "value")

    def __init__(self, value: Any, dim: int | None) -> None:
        self.value, self.dim = value, dim

    def example(self, level: BatchLevel) -> Any:
        """The value as one example sees it."""
        if self.dim is None:
            return self.value
        return batched(to_front(self.value, self.dim), level, self.dim)


def unbatched_value(value: Any, level: BatchLevel) -> Kept:
    """A value with its batch axis, taken out of the batched call."""
    if not level.holds(value):
        return Kept(value, None)
    return Kept(value._array.value, None if value._array.shared else 0)


def unbatched(value: Any, level: BatchLevel) -> Any:
    """An attribute of a context, with the batches in it taken out of the batched call."""
    if not any(level.holds(leaf) for leaf in pytree.flatten(value)):
        return value
    return pytree.map_leaves(lambda leaf: unbatched_value(leaf, level), value)


def rebatched(value: Any, level: BatchLevel) -> Any:
    """A value of `unbatched` as one example sees it again."""
    if not any(isinstance(leaf, Kept) for leaf in pytree.flatten(value)):
        return value
    return pytree.map_leaves(lambda leaf: leaf.example(level), value)


class Vmapped(Function):
    """A Function on a batch, `apply(call, *args)`: NOTE [Generated rules]."""

    generate_vmap_rule = True

    @staticmethod
    def forward(call: Call, *args: Any) -> Any:
        """The outputs of all examples."""
        with call.level() as level:
            output = call.function.forward(*call.examples(args, level), **call.kwargs)
            leaves = pytree.flatten(output)
            call.shared = [not level.holds(t) or t._array.shared for t in leaves]
            made = [split(t, level) if isinstance(t, Tensor) else t for t in leaves]
        return pytree.unflatten(output, made)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Let the Function say what it keeps, and keep that of all examples."""
        call, *args = inputs
        several = isinstance(output, tuple)
        outputs = output if several else (output,)
        with call.level() as level:
            own = call.function._backward_cls()
            own.needs_input_grad = ctx.needs_input_grad[1:]
            given = call.examples(args, level)
            made = tuple([batched(t, level) if isinstance(t, Tensor) else t for t in outputs])
            call.function.setup_context(own, given, made if several else made[0])
            if own.dirty_tensors:
                raise UnbatchableError(DIRTY.format(call.function._name), advice=ONLY_OWN)
            known = {id(t): Kept(t_all, 0) for t, t_all in zip(made, outputs, strict=True)}
            for t, t_all, dim in zip(given, args, call.dims, strict=True):
                known[id(t)] = Kept(t_all, dim)
            saved, for_forward, fixed = [
                [known.get(id(t)) or unbatched_value(t, level) for t in tensors]
                for tensors in (own.to_save, own.saved_for_forward, own.non_differentiable)
            ]
            own.to_save = own.saved_for_forward = own.non_differentiable = ()
            ctx.attributes = {name: unbatched(v, level) for name, v in own.__dict__.items()}
            ctx.shapes = [t._array.shape if isinstance(t, Tensor) else None for t in given]
        ctx.call = call
        ctx.dims, ctx.forward_dims = [each.dim for each in saved], [t.dim for t in for_forward]
        ctx.save_for_backward(*[each.value for each in saved])
        ctx.save_for_forward(*[each.value for each in for_forward])
        ctx.mark_non_differentiable(*[each.value for each in fixed])
        ctx.set_materialize_grads(own.materialize_grads)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of all examples, summed for what these share."""
        call = ctx.call
        saved = zip(ctx.saved_tensors, ctx.dims, strict=True)
        with call.level() as level:
            own = call.context(ctx, list(saved), level)
            given = [None if g is None else batched(g, level) for g in grad_outputs]
            found = call.function._derivative()(own, *given)
            found = found if isinstance(found, tuple) else (found,)
            sizes = zip_longest(found, ctx.shapes, call.dims)  # their number is checked later
            return None, *[gradient(g, shape, dim, level) for g, shape, dim in sizes][: len(found)]

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs of all examples."""
        call = ctx.call
        saved = zip(ctx.saved_tensors, ctx.forward_dims, strict=True)
        with call.level() as level:
            own = call.context(ctx, list(saved), level)
            pairs = zip(grad_inputs[1:], call.dims, strict=True)
            given = [None if t is None else Kept(t, dim).example(level) for t, dim in pairs]
            found = call.function.jvp(own, *given)
            found = found if isinstance(found, tuple) else (found,)
            return tuple([split(t, level) if isinstance(t, Tensor) else t for t in found])


def gradient(g: Any, shape: Any, dim: Any, level: BatchLevel) -> Any:
    """What `backward` returned for an argument, whose examples have this shape, for all of them."""
    if not isinstance(g, Tensor) or shape is None:
        return g
    if g._array.shape != shape and expands(shape, g._array.shape):
        g = recorded.sum_to(g, shape=shape)
    whole = split(g, level)
    if dim is None:
        return recorded.sum_dim(whole, dim=(0,), keepdim=False)
    return batched(whole, level, dim)._array.given()


def on_examples(
    function: Definition, info: VmapInfo, dims: tuple[Any, ...], *args: Any, **kwargs: Any
) -> tuple[Any, Any]:
    """A Function's outputs and their batch dimensions, as its `vmap` returns them.

    `dims` has for each argument, or for each part of a container, the dimension of the examples.
    """
    call = Call(function, info, dims, kwargs)
    output = Vmapped.apply(call, *args)
    places = [None if shared and info.batch_size else 0 for shared in call.shared]
    made = [
        recorded.select(t, index=(0,)) if place is None and isinstance(t, Tensor) else t
        for t, place in zip(pytree.flatten(output), places, strict=True)
    ]
    return pytree.unflatten(output, made), pytree.unflatten(output, places)
