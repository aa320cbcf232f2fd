"""Parameters that are whole while they are needed, and what travels for that.

NOTE [Units]
1. A unit is the parameters that one call of `fully_shard`, or one wrapper, has cut. They are whole
   while the module's forward runs, and again from when a gradient reaches its outputs until all of
   theirs are there; between, each rank holds its parts alone. The outermost stays whole from its
   forward to its backward pass, unless it is told otherwise.
2. So the graph may not hold whole parameters. Within the forward, a saved value that lies in the
   memory of one is kept as its place there, and read from the parameter as it is gathered again.
   Other values go on to the hooks around, if there are any.
3. A unit travels as a whole: its parts are gathered in one message. Of its gradients the mean is
   scattered, in a message for each dtype, once all of them are there; it comes beside the rest of
   the pass, and whoever asks for a gradient, as the end of the pass does, waits for it.
4. While a unit computes, the next is gathered: in the forward the one that followed in the last
   forward, in the backward pass the one before it in this. Who is told others gathers those.
5. All of that takes all ranks, which run the same units in the same order.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .... import modes
from ....autograd.function import Function
from ....autograd.variable import Variable
from ....engine.overriding import NO_SUBCLASSES
from ....engine.tensor import Tensor, new_tensor
from ....kernels.allocation import has_values
from ....kernels.memory import address, memory, root, strided
from ....pytree import flatten
from ..tensor.api import shown
from ..tensor.array import Distributed, bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..engine.world import World

__all__ = ["MixedPrecisionPolicy", "Unit"]

WRITTEN = (
    "a parameter of shape {shape} has been modified by an inplace operation between the forward "
    "and the backward pass, which gathers it again: is at version {now}; expected version {then} "
    "instead. Call backward() before optimizer.step()"
)
RUNNING: list[Unit] = []  # those whose forwards run, the outermost first


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Dtypes of a module whose parameters lie over ranks; None for those that they have.

    param_dtype: in which the whole parameters are, in the forward and backward pass. reduce_dtype:
    in which gradients are averaged, `param_dtype` by default. output_dtype: of floating outputs.
    cast_forward_inputs: whether floating inputs become `param_dtype`.

    >>> from retrograd.distributed.fsdp import MixedPrecisionPolicy
    >>> MixedPrecisionPolicy(param_dtype=rg.bfloat16).cast_forward_inputs
    True
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


class Place(NamedTuple):
    """Where a saved value lies in a whole parameter."""

    number: int
    version: int
    offset: int
    dtype: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Unit:
    """The parameters of one module that come and go together: NOTE [Units].

    name: of the module, for errors; sharded: the dict of each, its name there, and the DTensor.
    reshards: whether they are cut after the forward; None: unless it is the outermost.
    """

    def __init__(
        self, name: str, sharded: list[Any], policy: MixedPrecisionPolicy, reshards: bool | None
    ) -> None:
        self.name, self.sharded, self.policy, self.reshards = name, sharded, policy, reshards
        self.parameters = [*{id(parameter): parameter for *_, parameter in sharded}.values()]
        self.synchronizes = self.reduces_all = self.reshards_after_backward = True
        self.next: list[Unit] | None = None  # to be gathered in the forward, if it was said
        self.previous: list[Unit] | None = None  # and in the backward pass
        self._whole: list[Tensor] = []
        self._coming: Callable[[], Any] | None = None  # what gives the parts of all ranks
        self._versions: list[int] = []  # of parameters, when they were last gathered
        self._kept: dict[int, Tensor] = {}  # gradients that are not to be averaged yet
        self._before: list[Any] = []  # how modes were before the forwards that run
        self._pass: Callable[[], Any] = nothing  # the backward pass that has reached it
        # Of an outermost unit: gradients on their way; the units of its last forward, and of this,
        # as they began and ended.
        self._flying: list[Callable[[], None]] = []
        self._last: list[Unit] = []
        self._begun: list[Unit] = []
        self._ended: list[Unit] = []
        self._root = self

    # -- whole and in parts --------------------------------------------------------------------

    @property
    def worlds(self) -> list[World]:
        """The groups along the mesh, those that parameters are cut over first."""
        groups = self.parameters[0].device_mesh.get_all_groups()
        return [group.world for group in reversed(groups)]

    def gather(self) -> None:
        """Let the parts of all ranks come, unless they do or are there."""
        versions = [parameter._version for parameter in self.parameters]
        if not self.parameters or (self._versions == versions and (self._whole or self._coming)):
            return
        self._whole, self._versions = [], versions
        sizes = [self._size(number) for number in range(len(self.parameters))]
        sent, ends = np.zeros(sum(sizes), np.uint8), np.cumsum(sizes)
        for number, place in enumerate(np.split(sent, ends[:-1])):
            if sizes[number]:
                array = self.parameters[number]._array
                own, row = moved(array, array.local), place.view(self._dtype(number))
                row[: own.size].reshape(own.shape)[...] = own
        world, call = self.worlds[0], f"parameters of {self.name}"
        self._coming = nothing  # for what lies whole already
        if sent.size:
            self._coming = world.all_gather(call, sent, beside=True).result

    def unshard(self) -> None:
        """Let the module have whole parameters."""
        self.gather()
        if self._coming is not None:
            found, self._coming, begin, arrays = self._coming(), None, 0, []
            for number, parameter in enumerate(self.parameters):
                array, dtype, size = parameter._array, self._dtype(number), self._size(number)
                arrays.append(np.empty(array.shape, dtype) if size else array.local.astype(dtype))
                if size:
                    rows = found[:, begin : begin + size].view(dtype)
                    for row, part in pairs(rows, moved(array, arrays[-1])):
                        part[...] = row
                begin += size
            with modes.Changed(grad=True, saved_hooks=(), overriding=NO_SUBCLASSES):
                self._whole = [*_Whole.apply(self, arrays, *self.parameters)]
        numbers = {id(parameter): n for n, parameter in enumerate(self.parameters)}
        for own, name, parameter in self.sharded:
            own[name] = self._whole[numbers[id(parameter)]]

    def reshard(self) -> None:
        """Let the module have those that lie over the ranks."""
        self._whole = []
        for own, name, parameter in self.sharded:
            own[name] = parameter

    def materialize(self) -> None:
        """Give parameters on the meta device memory."""
        for parameter in self.parameters:
            array: Any = parameter._array
            if not has_values(array.local):
                array.local = np.empty(array.local.shape, array.dtype)

    def _dtype(self, number: int) -> Any:
        """That of a whole parameter."""
        own, asked = self.parameters[number]._array.dtype, self.policy.param_dtype
        return own if asked is None or own.kind in "biuc" else asked.numpy

    def _size(self, number: int) -> int:
        """The bytes that each rank sends of a parameter: as many as are of the largest part."""
        array = self.parameters[number]._array
        if array.placements[-1].is_replicate():
            return 0
        itemsize: int = self._dtype(number).itemsize
        return largest(array, self.worlds[0].size) * itemsize

    # -- forward -------------------------------------------------------------------------------

    def begin(self) -> None:
        """Prepare for the module's forward."""
        first = self._root._pass() is None  # else it is computed again, for a backward pass
        if first and not RUNNING:
            self._last, self._begun, self._ended = self._begun, [], []
        if first:
            self._root = (RUNNING or [self])[0]
            self._root._begun.append(self)
        self.unshard()
        for unit in self._following() if first else ():
            unit.gather()
        hooks = modes.state.saved_hooks
        if self._leaves() and modes.state.saved_hooks_disabled is None:
            owners = {id(root(held._array)): n for n, held in enumerate(self._whole)}
            around = hooks[-1] if hooks else (same, same)
            hooks = (*hooks, (partial(self._pack, owners, around[0]),
                              partial(self._unpack, around[1])))  # fmt: skip
        self._before.append(modes.change(saved_hooks=hooks))
        RUNNING.append(self)

    def _following(self) -> Sequence[Unit]:
        """What is gathered while this unit's forward runs."""
        place, last = len(self._root._begun), self._root._last
        if self.next is None and last[place - 1 : place] == [self]:
            return last[place : place + 1]
        return self.next or ()

    def end(self, output: Any) -> None:
        """Clean up after the forward, and wait for gradients of its output."""
        modes.restore(self._before.pop())
        RUNNING.pop()
        first = self._root._pass() is None
        if first:
            self._root._ended.append(self)
        outputs = [v for v in flatten(output) if isinstance(v, Tensor) and v.requires_grad]
        waits = [v for v in outputs if modes.state.grad and not v.is_leaf]
        if self._pass() is None and (self._leaves() or (self.reshards is None and not waits)):
            self.reshard()
        for value in waits:
            value.register_hook(self._reached)
        if first and self._root is self:
            for unit in self._last:
                unit._coming = None  # it did not follow this time

    def _leaves(self) -> bool:
        """Whether parameters are cut after the forward that runs."""
        return self._root is not self if self.reshards is None else self.reshards

    def _pack(self, owners: dict[int, int], around: Any, tensor: Tensor) -> Any:
        array = tensor._array
        number = owners.get(id(root(array)))
        if number is None:
            return around(tensor)
        offset = address(array) - address(memory(array)) if array.size else 0
        version = self.parameters[number]._version
        return Place(number, version, offset, array.dtype, array.shape, array.strides)

    def _unpack(self, around: Any, packed: Any) -> Any:
        if not isinstance(packed, Place):
            return around(packed)
        parameter, there = self.parameters[packed.number], self._whole
        if parameter._version != packed.version:
            shape, now = tuple(parameter.shape), parameter._version
            raise RuntimeError(WRITTEN.format(shape=shape, now=now, then=packed.version))
        if not there:
            self.unshard()
        held = memory(self._whole[packed.number]._array)
        if not there and self._pass() is None:
            self.reshard()
        return new_tensor(strided(held, packed.shape, packed.strides, packed.offset, packed.dtype))

    # -- backward ------------------------------------------------------------------------------

    def _reached(self, _: Any) -> None:
        """A gradient has reached the output: the backward pass comes to this unit."""
        if self._pass() is not modes.state.current_pass:
            self._pass = weakref.ref(modes.state.current_pass)
            Variable._execution_engine.queue_callback(self._passed)
        self.unshard()
        ended = self._root._ended
        place = ended.index(self) if self in ended else 0
        for unit in ended[max(place - 1, 0) : place] if self.previous is None else self.previous:
            unit.gather()

    def left(self, grads: dict[int, Tensor]) -> dict[int, Tensor]:
        """The backward pass has left the unit; gradients that are to be averaged now."""
        if self.reshards_after_backward:
            self.reshard()
        before, self._kept = self._kept, {}
        added = before | {n: before[n] + g if n in before else g for n, g in grads.items()}
        if self.synchronizes and (self.reduces_all or len(self.worlds) == 1):
            return dict(sorted(added.items()))
        self._kept = {n: g if n in before else g.clone() for n, g in added.items()}
        return {}

    def scattered(self, grads: dict[int, Any]) -> dict[int, Distributed]:
        """The parts that this rank has of the means of gradients: they come in time."""
        self._root.land()
        (world, *others), call = self.worlds, f"gradients of {self.name}"
        lots: dict[Any, list[int]] = {}
        for number, g in grads.items():
            array, asked = self.parameters[number]._array, self.policy.reduce_dtype
            dtype = g.dtype if asked is None or g.dtype.kind in "biuc" else asked.numpy
            lots.setdefault((array.placements[-1].is_replicate(), dtype), []).append(number)
        made: dict[int, Distributed] = {}
        for (whole, dtype), lot in lots.items():
            likes = [self.parameters[number]._array for number in lot]
            rows = 1 if whole else world.size
            ends = np.cumsum([largest(like, rows) for like in likes])
            sent = np.zeros((rows, ends[-1]), dtype)
            for number, like, mine in zip(lot, likes, np.split(sent, ends[:-1], 1), strict=True):
                for row, part in pairs(mine, moved(like, grads[number])):
                    row[...] = part
            if whole:
                result = world.all_reduce(call, sent, "mean", beside=True).result
            else:
                shape = sent.shape[1:]
                result = world.reduce_scatter(call, sent, shape, "mean", beside=True).result
            held = [np.empty(like.local.shape, like.dtype) for like in likes]
            arrive = Arrival(result, others, call, [*zip(likes, held, ends, strict=True)])
            self._root._flying.append(arrive)
            made |= {n: Coming(like, place, arrive)
                     for n, like, place in zip(lot, likes, held, strict=True)}  # fmt: skip
        return made

    def land(self) -> None:
        """Wait for the gradients of the unit before: no more of them are on their way at once."""
        for arrive in self._flying:
            arrive()
        self._flying = []

    def _passed(self) -> None:
        self._pass = nothing
        self._root.land()
        if self.reshards_after_backward:
            self.reshard()
        for unit in self._root._ended:
            unit._coming = None


class _Whole(Function):
    """From parameters of a unit to whole ones, that have come; from their gradients to parts."""

    @staticmethod
    def forward(ctx: Any, unit: Unit, arrays: Any, *parameters: Tensor) -> Any:
        ctx.unit = unit
        ctx.set_materialize_grads(False)
        made = tuple(map(new_tensor, arrays))
        pairs = zip(made, parameters, strict=True)
        ctx.mark_non_differentiable(*[one for one, p in pairs if not p.requires_grad])
        return made

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        there = ctx.unit.left({n: g for n, g in enumerate(grads) if g is not None})
        parts = _Parts.apply(ctx.unit, [*there], *there.values()) if there else ()
        found = dict(zip(there, parts, strict=True))
        return None, None, *[found.get(number) for number in range(len(grads))]


class _Parts(Function):
    """From gradients of whole parameters to this rank's parts of their means."""

    @staticmethod
    def forward(ctx: Any, unit: Unit, numbers: Sequence[int], *grads: Tensor) -> Any:
        made = unit.scattered({n: g._array for n, g in zip(numbers, grads, strict=True)})
        return tuple(new_tensor(made[n]) for n in numbers)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """As if each rank had a loss of what all have: the mean over these is taken once, above."""
        return None, None, *[shown(g).full_tensor() for g in grads]


class Arrival:
    """What a rank gets of a message with gradients, once somebody asks for it.

    pieces: of each gradient the parameter's array, the memory of this rank's part, and where it
    ends. Means over `others`, along the other dimension of a mesh, are taken then, too.
    """

    def __init__(self, result: Any, others: list[World], call: str, pieces: list[Any]) -> None:
        self.result, self.others, self.call, self.pieces = result, others, call, pieces

    def __call__(self) -> None:
        if self.result is None:
            return
        found, begin = self.result().reshape(-1), 0
        for world in self.others:
            found = world.all_reduce(self.call, found, "mean")
        for like, held, end in self.pieces:
            part = moved(like, held)
            part[...] = found[begin : begin + part.size].reshape(part.shape)
            begin = end
        self.result = None


class Coming(Distributed):
    """An array over ranks whose part here is on its way; whoever asks for it waits."""

    def __init__(self, like: Distributed, held: Any, arrive: Callable[[], None]) -> None:
        self.mesh, self.kept, self.placements = like.mesh, True, like.placements
        self.shape, self.held, self.arrive = like.shape, held, arrive

    dtype = property(lambda self: self.held.dtype)
    has_values = True

    @property
    def local(self) -> Any:
        """This rank's part."""
        self.arrive()
        self.__class__ = Distributed  # type: ignore[assignment]
        self.local = self.held  # type: ignore[misc]
        return self.held


def moved(like: Distributed, array: Any) -> Any:
    """An array, whole or this rank's part, whose first dimension is the one that is cut."""
    cut = like.placements[-1]
    return np.moveaxis(array, cut.dim, 0) if cut.is_shard() else array.reshape(1, -1)  # type: ignore[attr-defined]


def largest(like: Distributed, rows: int) -> int:
    """How many elements of an array the ranks have at most."""
    cut = like.placements[-1]
    length = like.shape[cut.dim] if cut.is_shard() else 1  # type: ignore[attr-defined]
    found: int = -(-length // rows) * (like.size // max(length, 1))
    return found


def pairs(rows: Any, array: Any) -> Iterator[tuple[Any, Any]]:
    """The row of each rank in a message, and its part of an array along dimension 0."""
    for number, row in enumerate(rows):
        start, stop = bounds(len(array), len(rows), number)
        part = array[start:stop]
        yield row[: part.size].reshape(part.shape), part


def nothing() -> None:
    """What a reference to a pass gives where there is none."""


def same(value: Any) -> Any:
    """What hooks do where there are none."""
    return value
