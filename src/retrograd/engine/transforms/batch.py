"""Batches of arrays, which let a function written for one example run on many at once (vmap).

NOTE [Batches] Inside a batched call a tensor's `_array` may be a `Batch`: it has the shape of one
example and holds a tensor with one more axis, in front. An op that is given one hands itself over
to `Batch.interpret`, which runs it on those tensors and puts what comes out into a batch again.
1. Levels nest: of several batches the newest level's are taken apart, and the op runs on what they
   hold, be it batches of older levels.
2. History is of two kinds. What a transform inside the call differentiates is recorded by the batch
   tensors themselves, shaped like one example; what was there before, by the tensors they hold. To
   keep the two apart, a variable of an inside transform is a batch too, even if all examples share
   it: `shared`. So every other tensor belongs outside. The same holds for tangents, by level.
3. A tensor that is no batch (`zeros(3)`), or one of an older level, may be written with what all
   examples share, as the variable of an inside transform is: it is a shared batch then, as long as
   the call lasts (`BatchLevel.lend`), and what history and tangents it has from outside are those
   of the tensor held. There is no room in it for other values.
4. What a record says in `batch` decides how its op runs on all examples at once: NOTE [Rules] in
   `rules`. Where nothing is said, the op runs once per example.
5. Python code that asks for a value (`if x > 0`, `x.item()`, an index from a batch) raises
   `UnbatchableError`, and the whole function then runs once per example. So every function can be
   batched; some only slowly.
"""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import modes
from ...errors import UnbatchableError
from ...quiet import copyto
from ..backward.search import reachable
from ..dispatch import operands
from ..graph import new_node
from ..inplace import exchange, outdate, renew
from ..namespaces import recorded
from ..record import finish, walk
from ..registry import OPS
from ..tensor import (
    Tensor,
    alias,
    cell_of,
    concrete,
    new_tensor,
    node_of,
    twin,
)
from ..views import Link, live_views
from .interpreted import Interpreted, shares_memory
from .rules import on_examples, with_axis

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..op import Op

RANDOM = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
    "'different' randomness flags on vmap or perform the randomness operation out of vmap: "
    "vmap(f, randomness='different')"
)
RANDOM_WITHIN = (
    "vmap: We do not yet support calling random operations inside of vmap. Several cotangents or "
    "tangents go through this code at once, and it draws random numbers: give them one at a time"
)
NO_ROOM = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor "
    "`other` in extra_args that has more elements than `self`. This happened due to `other` being "
    "vmapped over but `self` not being vmapped over in a vmap. Write out of place (y = x + v for "
    "x.add_(v)), or make the tensor that is written from a batched one, for example by v.clone(), "
    "zeros_like(v) or v.new_zeros(shape)"
)
ESCAPED = (
    "{name}(): a Tensor escaped from inside a function being vmapped: it stands for one example of "
    "a batched call that is over. Return it from the function to have all examples"
)
LAYOUT = {"flags", "itemsize", "nbytes", "strides"}  # what the memory of an example tells
REFUSED = {
    "__bool__": "It looks like you're attempting to use a Tensor in some data-dependent control "
    "flow: where(condition, x, y) chooses between values",
    "item": "It looks like you're calling .item() on a Tensor: compute with the tensor itself",
}


class BatchLevel:
    """One batched call in progress, entered as a context.

    `randomness` is as in `func.vmap`; None where it was not the program that asked for batches.
    """

    def __init__(self, size: int, randomness: str | None = None) -> None:
        self.size, self.randomness = size, randomness
        self.outer = modes.state.levels
        self.number = modes.next_number()
        self.depth = len(modes.state.batches)
        self.recorded = False  # whether a tensor in one of its batches has history
        self.left = False  # whether the call is over
        self.singly = False  # whether the function runs once per example after all
        self.at_once = False  # whether numbers are drawn now for all examples
        self.starts: dict[Any, Any] = {}  # of generators: their states before the first draw
        self.lent: dict[int, tuple[Tensor, Link | None]] = {}  # are batches for now; own memory
        self.given: list[Batch] = []  # what the call was given, in the caller's memory

    def __enter__(self) -> BatchLevel:
        self.before = modes.change(batches=(*modes.state.batches, self))
        self.left = False
        return self

    def __exit__(self, *exc: object) -> None:
        modes.restore(self.before)
        self.left = True
        for tensor, link in self.lent.values():
            if self.holds(tensor):
                held = tensor._array.value
                tensor._node, tensor._tangents = held._node, held._tangents
                own = held if link is None else walk(link.base, link.steps(tensor))
                renew(tensor, own._array)
                for each in live_views(tensor):
                    each._tangents = walk(twin(tensor, None), each._view_of.path)._tangents
                if tensor._views and tensor._node is not None:
                    outdate(tensor, True)
        self.lent.clear()
        self.given.clear()

    @property
    def inner(self) -> tuple[Any, ...]:
        """The forward derivatives in progress within the call: batches have their tangents."""
        levels = modes.state.levels
        return levels and tuple([each for each in levels if each not in self.outer])

    def lend(self, tensor: Tensor) -> None:
        """Let a tensor be a batch until the call ends: NOTE [Batches], 3."""
        in_memory = not isinstance(tensor._array, Batch)
        link = Link(new_tensor(tensor._array), (), tensor) if in_memory else None
        self.lent[id(tensor)] = tensor, link
        if tensor._node is not None or tensor._tangents:
            renew(tensor, Batch(twin(tensor, node_of(tensor)), self, shared=True))
            for each in (tensor, *live_views(tensor)):
                each._node = None
                if each._tangents:
                    own = {k: t for k, t in each._tangents.items() if k not in self.outer}
                    each._tangents = own or None

    def keep_memory(self, tensor: Tensor) -> None:
        """Write the values of a tensor that is a batch for now into its own memory."""
        link = self.lent[id(tensor)][1] if id(tensor) in self.lent else None
        if link is not None:
            copyto(walk(link.base, link.steps(tensor))._array, concrete(tensor._array))

    def draw(self, source: Any) -> None:
        """Called before the generator `source` is used: refuse, or leave it to each example."""
        if self.randomness in (None, "error"):
            raise RuntimeError(RANDOM if self.randomness else RANDOM_WITHIN)
        if self.randomness == "different" and not (self.singly or self.at_once):
            raise UnbatchableError("each example draws its own random numbers", self)
        if (self.randomness == "same" or self.at_once) and source not in self.starts:
            self.starts[source] = source.get_state()

    def rewind(self) -> None:
        """Let what runs again, for the next example or for each, draw from where the call began."""
        for source, state in self.starts.items():
            source.set_state(state)

    def differentiates(self, tensor: Tensor) -> bool:
        """Whether a tensor has history that a transform in progress within the call may use."""
        inside = [each for each in modes.state.nested if each.number > self.number]
        node = tensor._node
        return node is not None and any(each.transform in inside for each in reachable([node]))

    def holds(self, tensor: Any) -> bool:
        """Whether a tensor's array is a batch of this level."""
        return is_batch(tensor) and tensor._array.level is self


class Batch(Interpreted):
    """The array of a tensor that stands for one example of many: NOTE [Batches].

    `shared` says that `value` has no batch axis: all examples have the same. `dim` is where that
    axis lay in what the batched call was given; it comes first in `value`.
    """

    __slots__ = ("dim", "dtype", "level", "ndim", "shape", "shared", "value")

    is_batched = True

    def __init__(
        self, value: Tensor, level: BatchLevel, shared: bool = False, dim: int = 0
    ) -> None:
        self.value, self.level, self.shared, self.dim = value, level, shared, dim
        self.shape: tuple[int, ...] = value._array.shape[not shared :]
        self.ndim = len(self.shape)
        self.dtype = value._array.dtype
        if value._node is not None:
            level.recorded = True

    @property
    def size(self) -> int:
        """The number of elements of one example."""
        return math.prod(self.shape)

    def given(self) -> Tensor:
        """All examples, as the batched call was given them: with the batch axis at `dim`."""
        value: Tensor = self.value
        if not self.dim:
            return value
        order = list(range(1, self.ndim + 1))
        order.insert(self.dim, 0)
        return recorded.permute(value, dims=tuple(order))

    def copy(self) -> Batch:
        """The batch itself, which is replaced where it is written; a copy if it may be written."""
        if not self.level.given:
            return self
        value = at_levels(self.level.outer, recorded.clone, self.value)
        return Batch(value, self.level, self.shared, self.dim)

    def detached(self) -> Batch:
        """The batch without the history and the tangents that it had before the batched call."""
        value, held = alias(self.value, None), self.value._array
        if isinstance(held, Batch):
            value._array = held.detached()
        return Batch(value, self.level, self.shared)

    def check_data(self) -> None:
        """Raise: a batch gives no `data`, an alias that each write would have to find."""
        raise RuntimeError("accessing `data` under vmap transform is not allowed. Use detach()")

    def detach(self, source: Tensor, made: Tensor) -> None:
        """Make `made` an alias of `source` without its history: each sees writes to the other."""
        super().detach(source, made)
        view = source._view_of
        base, path = (source, ()) if view is None else (view.base, view.path)
        if base._alias_of is not None:
            link = base._alias_of
            base, path = link.base, (*link.steps(base), *path)
        made._alias_of = Link(base, path, made)
        alive = [ref for ref in base._aliases or () if ref() is not None]
        base._aliases = [*alive, weakref.ref(made)]

    def before_turn(self, made: Batch) -> None:
        """Let writes to `made`, too, go to the caller's memory if those to this do."""
        if self.is_given:
            self.level.given.append(made)

    def is_kept(self, others: Sequence[Tensor]) -> bool:
        """Whether a write to this is one to memory of the caller that nodes outside may keep."""
        cell = cell_of(self.value)
        given = any(cell_of(each.value) is cell for each in self.level.given)
        return given and (is_recorded(self.value) or any(map(is_recorded, others)))

    def around(self, made: Tensor) -> Batch:
        """A batch of this level in which `made` is the same for all examples."""
        return Batch(made, self.level, shared=True)

    def with_history(self, before: Any, moving: bool = False) -> Batch:
        """The batch, with the history from before the batched call that `before` has.

        And with its tangents, if it is `moving`.
        """
        earlier = before.value if isinstance(before, Batch) else None
        old = None if earlier is None else node_of(earlier)
        value = twin(self.value, old)
        held, shape = value._array, value._array.shape
        if moving and earlier is not None and earlier._tangents:
            value._tangents = {
                level: recorded.expand(t, shape=shape) for level, t in earlier._tangents.items()
            }
        if isinstance(held, Batch):
            value._array = held.with_history(None if earlier is None else earlier._array, moving)
        if old is not None and old.shape != shape:  # it was one value for all examples
            value._node = new_node(OPS["clone"], (old,))
            value._node.shape, value._node.dtype = shape, old.dtype
        return Batch(value, self.level, self.shared)

    def shares_memory(self, other: Any) -> bool:
        """Whether the batch lies in the memory of another one."""
        its = other.value._array if isinstance(other, Batch) else other
        return shares_memory(its, self.value._array)

    def check_room(self, target: Tensor) -> None:
        """Raise unless `target` is a batch of this level, or of a newer one, or can be for now."""
        held = target._array
        if not self.has_room(target, held):
            raise RuntimeError(NO_ROOM)
        if not isinstance(held, Batch) or held.level.depth < self.level.depth:
            self.level.lend(target)

    def has_room(self, target: Tensor, held: Any) -> bool:
        """Whether `target`, with the array `held`, can hold different values for all examples."""
        if isinstance(held, Batch) and held.level.depth >= self.level.depth:
            if id(target) not in held.level.lent:
                return True
            if held.level is not self.level:
                return self.has_room(target, held.value._array)
            held = held.value._array
        if not self.shared or (isinstance(held, Batch) and held.is_given):
            return False
        own: Any = self.value._array
        return not isinstance(own, Batch) or own.has_room(target, held)

    def stored(self, target: Tensor) -> Interpreted:
        """The target's array after a write: this, or its own where that is the caller's memory."""
        held = target._array
        if not isinstance(held, Batch) or not held.is_given:
            return self
        with modes.Changed(levels=held.level.outer):
            held.value.copy_(split(new_tensor(self), held.level))
        return held

    def after_store(self, target: Tensor) -> None:
        """Write the values of a tensor that is a batch for now into its own memory."""
        self.level.keep_memory(target)
        base = target if target._alias_of is None else write_through(target)
        for ref in base._aliases or ():
            alias = ref()
            if alias is not None:  # its values are those of the base, its history is its own
                path = alias._alias_of.steps(alias)
                part = walk(new_tensor(base._array.detached()), path)
                renew(alias, part._array.with_history(alias._array, True))

    @property
    def is_given(self) -> bool:
        """Whether the batched call was given this, so that writes go to the caller's memory."""
        return any(each is self for each in self.level.given)

    @property
    def is_constant(self) -> bool:
        """Whether there is one value for all examples of all levels."""
        held = self.value._array
        return self.shared and (not isinstance(held, Batch) or held.is_constant)

    # No `__array_ufunc__`: NumPy leaks the arguments of what that refuses.
    def refused(self, name: str) -> Exception:
        """The error for what asks for values, or has NumPy write them."""
        text = REFUSED.get(name, f"a batch has no single {name!r}")
        return UnbatchableError(text, self.level)

    def __bool__(self) -> Any:
        raise self.refused("__bool__")

    def __reduce__(self) -> Any:
        raise self.refused("__reduce__")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise self.refused("__reduce__")

    @property
    def example(self) -> Any:
        """The array of one example, for questions about its memory layout."""
        held = self.value._array
        array = held.example if isinstance(held, Batch) else concrete(held)
        if self.shared:
            return array
        return array[0] if len(array) else np.empty(self.shape, self.dtype)

    def __getattr__(self, name: str) -> Any:
        if name in LAYOUT:
            return getattr(self.example, name)
        raise self.refused(name)

    def interpret(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run `op` on all examples of the newest level among its inputs."""
        level = self.level
        for t in inputs:
            if is_batch(t) and t._array.level.depth > level.depth:
                level = t._array.level
        if level.left:
            raise RuntimeError(ESCAPED.format(name=op.name))
        if params and any(map(is_batch, params.values())):
            raise UnbatchableError("a parameter is a batch")
        held, flags = [], []
        for t in inputs:
            ours = is_batch(t) and t._array.level is level
            held.append(t._array.value if ours else t)
            flags.append(ours and not t._array.shared)
        results = at_levels(level.outer, on_examples, op, level.size, held, flags, params)
        shared = not any(flags)
        made = tuple([Batch(r, level, shared) for r in results])
        given = made[0] if op.outputs == 1 else made
        tensors = operands(*inputs) if op.is_binary else inputs
        return finish(op, tensors, given, params, level)


def at_levels(levels: tuple[Any, ...], function: Callable[..., Any], *args: Any) -> Any:
    """What a function gives where these forward derivatives are in progress, and no others."""
    if modes.state.levels == levels:
        return function(*args)
    before = modes.swap("levels", levels)
    try:
        return function(*args)
    finally:
        modes.swap_back("levels", before)


def write_through(alias: Tensor) -> Tensor:
    """Write the values of a detached alias into the batch that it is one of; give that."""
    link: Any = alias._alias_of
    base: Tensor = link.base
    path = link.steps(alias)
    value, held = new_tensor(alias._array.detached()), base._array
    if path:
        value = OPS["splice"].call(new_tensor(held.detached()), value, path=path, layout=None)
    renew(base, value._array.with_history(held, True).stored(base))
    base._array.level.keep_memory(base)
    return base


def is_batch(value: Any) -> bool:
    """Whether a tensor's array is a batch."""
    return isinstance(value, Tensor) and isinstance(value._array, Batch)


def is_recorded(tensor: Tensor) -> bool:
    """Whether a tensor, or what it holds, has history."""
    return tensor._node is not None or (is_batch(tensor) and is_recorded(tensor._array.value))


def batched(value: Tensor, level: BatchLevel, dim: int = 0) -> Tensor:
    """A tensor that stands for each example along the first axis of `value`; `dim`: see `Batch`."""
    return new_tensor(Batch(value, level, dim=dim))


def argument(value: Tensor, level: BatchLevel, dim: int) -> Tensor:
    """`batched` for what a batched call is given: writes to it are writes to `value`, at once.

    So whatever else shares that memory, in the call and outside, sees them.
    """
    made = batched(value, level, dim)
    level.given.append(made._array)
    return made


def split(tensor: Any, level: BatchLevel) -> Tensor:
    """What comes out of a batched call, with the batch axis in front.

    What has none is repeated, so that each example has memory of its own.
    """
    batch = tensor._array
    if level.holds(tensor) and not batch.shared:
        return batch.value  # type: ignore[no-any-return]
    batched = batch.value if level.holds(tensor) else tensor
    return recorded.clone(with_axis(batched, level.size))


def variable(tensor: Tensor) -> Tensor:
    """A tensor on the array of `tensor` for a transform to differentiate: NOTE [Batches], 2.

    Memory that batches of the newest level share is a copy, for nobody may write to it.
    """
    levels = [level for level in modes.state.batches if not level.singly]
    if not levels or levels[-1].holds(tensor):
        return twin(tensor, None)
    made = new_tensor(Batch(recorded.clone(tensor), levels[-1], shared=True))
    made._tangents = tensor._tangents
    return made


def give_back(made: Tensor, tensor: Tensor) -> bool:
    """Let `tensor`, of which `made` is the `variable`, have what was written to that.

    The result says whether it takes over the history of `made`, too, of which there is no use where
    it is no batch of the call. Raises RuntimeError where examples wrote different values to what
    they share.
    """
    if not is_batch(made) or made._array.is_given:  # which is in that memory
        return True
    level = made._array.level
    if made._array.shared and not level.holds(tensor) and not level.differentiates(made):
        tensor.copy_(made._array.value)
        return False
    exchange(tensor, made._array)
    return True
