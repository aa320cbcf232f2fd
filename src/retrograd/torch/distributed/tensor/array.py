"""`Distributed`: an array that lies over the ranks of a mesh, as NumPy's protocols see it.

NOTE [Distributed arrays]
1. An array has the shape and the values of the whole; what a rank holds is `local`. A function of
   such arrays gives what it gives on the whole ones, so forwards, formulas of derivatives and
   update rules run on them as they are: NOTE [The seam] in `kernels.allocation`.
2. Elementwise functions compute on parts where one operand lies in parts; what is whole there is
   cut, which needs no message, and what lies otherwise is gathered first. Summands are added up as
   they are. What else computes on parts is in NOTE [Computing on parts] in `parts`. All other
   functions gather what is in parts, and every rank computes the whole.
3. All ranks call the same functions in the same order: gathering takes all of them.
4. A write into an array keeps how it lies. An array that a function made is whole from when it is
   first gathered, so that its views can be written. One that was told how to lie (`kept`) stays so;
   its views lie as it does, or are gathered and read-only, lest something is written there instead
   of here.
5. An array in parts along a dimension is cut as `chunk` cuts it: the last parts may be shorter or
   empty. Several dimensions of a mesh cut one after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ....kernels.allocation import StandIn, has_values
from ....pytree import flatten, map_leaves
from ....quiet import quietly
from . import parts
from .placements import Partial, Placement, Replicate, Shard, without_sums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..device_mesh import DeviceMesh

__all__ = ["Distributed", "block", "bounds", "cut"]

# Functions that ask for the memory or dtype, that take any array for its shape and dtype, and that
# work element by element.
ASK = {np.shares_memory, np.may_share_memory, np.iscomplexobj, np.isrealobj}
LIKE = {np.zeros_like, np.ones_like, np.empty_like, np.full_like}
ADDS = {np.add, np.subtract}
BY_ELEMENT = {np.where, np.real, np.imag, np.copy, np.nan_to_num}


class Distributed(StandIn, NDArrayOperatorsMixin):
    """An array over the ranks of a mesh: NOTE [Distributed arrays]."""

    base = None

    def __init__(
        self,
        local: Any,
        mesh: DeviceMesh,
        placements: Sequence[Placement],
        shape: Any,
        kept: bool = False,
    ) -> None:
        self.local, self.mesh, self.kept = local, mesh, kept
        self.placements, self.shape = tuple(placements), tuple(shape)

    dtype = property(lambda self: self.local.dtype)
    has_values = property(lambda self: has_values(self.local))
    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: int(np.prod(self.shape, dtype=np.int64)))
    itemsize = property(lambda self: self.local.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)
    flags = property(lambda self: self.local.flags)

    @property
    def strides(self) -> tuple[int, ...]:
        """Those of the whole: of the array itself, or of one in row-major order."""
        if self.whole:
            return tuple(self.local.strides)
        steps = np.cumprod([self.itemsize, *[max(n, 1) for n in self.shape[:0:-1]]])
        return tuple(steps[::-1].tolist()) if self.shape else ()

    @property
    def whole(self) -> bool:
        """Whether every rank has all of it."""
        return all(placement.is_replicate() for placement in self.placements)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __bool__(self) -> bool:
        return bool(self.full())

    # -- moving --------------------------------------------------------------------------------

    def moved(self, placements: Sequence[Placement]) -> Distributed:
        """The same array lying otherwise; itself where it lies so."""
        placements = tuple(placements)
        differ = [k for k, pair in enumerate(zip(self.placements, placements, strict=True)) if
                  pair[0] != pair[1]]  # fmt: skip
        if not differ:
            return self
        local, now = self.local, list(self.placements)
        for k in reversed(range(differ[0], len(now))):  # what was cut last is joined first
            local, now[k] = self._joined(local, now, k), Replicate()
        for k in range(differ[0], len(now)):
            local, now[k] = self._cut(local, now, k, placements[k]), placements[k]
        return Distributed(local, self.mesh, now, self.shape, kept=True)

    def full(self) -> Any:
        """The whole array: rule 4 of NOTE [Distributed arrays]."""
        found = self.moved([Replicate()] * len(self.placements))
        if self.kept and not self.whole:
            seen = found.local.view()
            seen.flags.writeable = False
            return seen
        self.local, self.placements = found.local, found.placements
        return self.local

    def _joined(self, local: Any, now: list[Placement], k: int) -> Any:
        """What a rank has once dimension `k` of the mesh is joined."""
        placement = now[k]
        if isinstance(placement, Replicate):
            return local
        world = self.mesh.get_group(k).world
        if isinstance(placement, Partial):
            name, call = "add" if placement.reduce_op == "sum" else "mean", "a partial tensor"
            return world.all_reduce(call, local, name, False)
        assert isinstance(placement, Shard)
        dim = placement.dim
        length = block(self.shape, self.mesh, now[:k])[1][dim]
        parts = [bounds(length, world.size, n) for n in range(world.size)]
        most = parts[0][1] - parts[0][0]
        padded = np.zeros((*local.shape[:dim], most, *local.shape[dim + 1 :]), local.dtype)
        padded[(slice(None),) * dim + (slice(local.shape[dim]),)] = local
        call = "a tensor in parts"
        whole = np.concatenate(world.all_gather(call, padded), dim)
        return whole[(slice(None),) * dim + (slice(length),)]

    def _cut(self, local: Any, now: list[Placement], k: int, placement: Placement) -> Any:
        """What a rank has of the whole along dimension `k` of the mesh."""
        number, size = self.mesh.get_local_rank(k), self.mesh.size(k)
        if isinstance(placement, Shard):
            length = block(self.shape, self.mesh, now[:k])[1][placement.dim]
            start, stop = bounds(length, size, number)
            return local[(slice(None),) * placement.dim + (slice(start, stop),)].copy()
        if isinstance(placement, Partial) and placement.reduce_op == "sum" and number:
            return np.zeros_like(local)  # the first rank has the whole summand
        return local

    # -- functions -----------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        run = ufunc if method == "__call__" else getattr(ufunc, method)
        out = options.pop("out", None)
        if method == "at":
            return self._written(inputs[0], lambda held: run(held, *wholes(inputs[1:])))
        where = True
        if method == "__call__" and ufunc.signature is None:
            where = options.pop("where", True)
            found = by_element(run, inputs, options)
        else:
            found = spread_of(inputs)(run(*wholes(inputs), **wholes(options)))
        if out is None:
            return found
        results = found if isinstance(found, tuple) else (found,)
        for place, result in zip(out, results, strict=True):
            if place is not None:
                write(place, result, where)
        return out[0] if len(out) == 1 else out

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function in ASK:
            return function(*map(local_of, args[:2]))
        if function is np.copyto:
            place, value, *rest = args
            where = options.get("where", rest[1] if len(rest) > 1 else True)
            write(place, value, where)
            return None
        if function in LIKE and options.get("shape") is None and len(args) < 5 and self is args[0]:
            made = function(self.local, *wholes(args[1:]), **wholes(options))
            return Distributed(made, self.mesh, without_sums(self.placements), self.shape)
        if function in BY_ELEMENT:
            return by_element(function, args, options)
        out = options.pop("out", None)
        found = spread_of([self])(function(*wholes(args), **wholes(options)))
        if out is None:
            return found
        write(out, found)
        return out

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.full(), dtype)

    def __getattr__(self, name: str) -> Any:  # T, real, item, ...; methods such as sum
        if name.startswith("__") or name == "local":
            raise AttributeError(name)
        if callable(getattr(np.ndarray, name)):
            return lambda *args, **options: spread_of([self])(
                getattr(self.full(), name)(*wholes(args), **wholes(options))
            )
        return spread_of([self])(getattr(self.full(), name))

    # -- on parts: NOTE [Computing on parts] -----------------------------------------------------

    @property
    def T(self) -> Any:  # noqa: N802 (NumPy's name)
        """Its dimensions in reverse order, in the memory of this."""
        return self.transpose()

    def transpose(self, *order: Any) -> Any:
        """Its dimensions in another order, in the memory of this."""
        axes = order[0] if len(order) == 1 and isinstance(order[0], (tuple, list)) else order
        axes = [axis % self.ndim for axis in axes] if axes else [*range(self.ndim)][::-1]
        shape = [self.shape[axis] for axis in axes]
        if not self.kept:
            return spread_of([self])(self.full().transpose(axes))
        lying = parts.ordered(self.placements, axes)
        return Distributed(self.local.transpose(axes), self.mesh, lying, shape, kept=True)

    def swapaxes(self, first: int, second: int) -> Any:
        """It with two dimensions in each other's place, in the memory of this."""
        axes = [*range(self.ndim)]
        axes[first], axes[second] = axes[second], axes[first]
        return self.transpose(axes)

    def reshape(self, *shape: Any, **options: Any) -> Any:
        """It in another shape, in the memory of this where that can be."""
        given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        known = int(np.prod([n for n in given if n >= 0], dtype=np.int64))
        to = [self.size // max(known, 1) if n < 0 else n for n in given]
        rule = parts.reshaped(self.placements, self.shape, to, self.local.shape)
        if (
            rule is None
            or options
            or not self.kept
            or int(np.prod(to, dtype=np.int64)) != self.size
        ):
            return spread_of([self])(self.full().reshape(*shape, **options))
        return Distributed(self.local.reshape(rule[1]), self.mesh, rule[0], to, kept=True)

    def conj(self) -> Any:
        """The conjugate."""
        return by_element(np.conjugate, (self,), {})

    def dot(self, other: Any) -> Any:
        """The product with a matrix."""
        if isinstance(other, Distributed) and self.ndim and other.ndim == 2:
            lying = parts.product_placements(self.placements, other.placements, self.ndim)
            if lying is not None and self.shape[-1] == other.shape[0]:
                shape = (*self.shape[:-1], other.shape[1])
                return Distributed(self.local.dot(other.local), self.mesh, lying, shape)
        return spread_of([self])(self.full().dot(wholes(other)))

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """Sums over some dimensions."""
        every = range(self.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes, keeps = [a % self.ndim for a in every], options.get("keepdims", False)
        cuts = [p for p in self.placements if isinstance(p, Shard)]
        if not cuts or out is not None or {*options} - {"keepdims"}:
            options = options if out is None else {**options, "out": out}
            return spread_of([self])(self.full().sum(axis, dtype, **wholes(options)))
        lying = parts.sum_placements(self.placements, axes, keeps)
        ones = (1 if d in axes else n for d, n in enumerate(self.shape))
        shape = [n for d, n in enumerate(ones) if keeps or d not in axes]
        local = np.asarray(self.local.sum(axis, dtype, **options))
        made = Distributed(local, self.mesh, lying, shape)
        return made.moved(without_sums(lying)) if any(p.is_partial() for p in lying) else made

    @property
    def real(self) -> Any:
        """The real parts, in the memory of this."""
        return Distributed(self.local.real, self.mesh, self.placements, self.shape, kept=True)

    @property
    def imag(self) -> Any:
        """The imaginary parts, in the memory of this if it is complex."""
        return Distributed(self.local.imag, self.mesh, self.placements, self.shape, kept=True)

    def astype(self, dtype: Any, *args: Any, **options: Any) -> Any:
        """A copy of another dtype, which lies as this."""
        held = self.moved(without_sums(self.placements)) if np.dtype(dtype).kind in "biu" else self
        made = held.local.astype(dtype, *args, **options)
        return Distributed(made, self.mesh, held.placements, self.shape)

    def copy(self, order: Any = "C") -> Any:
        """A copy that lies as this."""
        return Distributed(self.local.copy(order), self.mesh, self.placements, self.shape)

    def fill(self, value: Any) -> None:
        """Write a number everywhere."""
        self[...] = value

    def __getitem__(self, key: Any) -> Any:
        if key is Ellipsis:
            return self
        key = wholes(key)
        if isinstance(key, np.ndarray) and key.dtype.kind in "iu" and not self.whole:
            cut_at = next(k for k, p in enumerate(self.placements) if not p.is_replicate())
            rows = bounds(len(self), self.mesh.size(cut_at), self.mesh.get_local_rank(cut_at))
            found = parts.looked_up(self.local, self.placements, key, len(self), rows)
            if found is not None:
                return Distributed(found[0], self.mesh, found[1], key.shape + self.shape[1:])
        return spread_of([self])(self.full()[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        if key is Ellipsis:
            write(self, value)
            return
        self._written(self, lambda held: held.__setitem__(wholes(key), wholes(value)))

    def _written(self, place: Any, writes: Any) -> None:
        """Let something write to the whole of an array, and keep what this rank has of it."""
        held = wholes(place)
        if not (isinstance(place, Distributed) and place.whole):
            held = held.copy()
        writes(held)
        write(place, held)


def bounds(length: int, count: int, number: int) -> tuple[int, int]:
    """Where part `number` of `count` starts and stops, as `chunk` cuts."""
    step = -(-length // count)
    return min(number * step, length), min((number + 1) * step, length)


def block(
    shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[list[int], list[int]]:
    """Where what this rank has of an array begins in the whole, and how long that is."""
    begins, lengths = [0] * len(shape), [*shape]
    for k, placement in enumerate(placements):
        if isinstance(placement, Shard):
            dim = placement.dim
            start, stop = bounds(lengths[dim], mesh.size(k), mesh.get_local_rank(k))
            begins[dim], lengths[dim] = begins[dim] + start, stop - start
    return begins, lengths


def cut(array: Any, mesh: DeviceMesh, placements: Sequence[Placement]) -> Distributed:
    """An array that every rank has, lying as is said."""
    whole = Distributed(array, mesh, [Replicate()] * mesh.ndim, array.shape)
    return whole.moved(placements)


def wholes(value: Any) -> Any:
    """Nested values with whole arrays."""
    return map_leaves(lambda x: x.full() if isinstance(x, Distributed) else x, value)


def local_of(value: Any) -> Any:
    return value.local if isinstance(value, Distributed) else value


def shape_of(value: Any) -> tuple[int, ...]:
    return value.shape if isinstance(value, Distributed) else np.shape(value)


def spread_of(values: Any) -> Any:
    """What puts arrays that every rank has on the mesh of those in `values`, if it has any."""
    meshes = [value.mesh for value in flatten(values) if isinstance(value, Distributed)]

    def made(found: Any) -> Any:
        if meshes and isinstance(found, (np.ndarray, np.generic)):
            return cut(np.asarray(found), meshes[0], [Replicate()] * meshes[0].ndim)
        return found

    return lambda found: map_leaves(made, found)


@quietly
def by_element(run: Any, inputs: Any, options: dict[str, Any]) -> Any:
    """A function of elements, on parts where an operand lies in parts: rule 2."""
    shape = np.broadcast_shapes(*map(shape_of, inputs))
    if run in ADDS and not options and all(map(addable, inputs)) and any(map(summands, inputs)):
        lying = next(filter(summands, inputs)).placements
        local = run(*[value.moved(lying).local for value in inputs])
        return Distributed(local, inputs[0].mesh, lying, shape)
    like = next(
        (
            value
            for value in inputs
            if isinstance(value, Distributed)
            and value.shape == shape
            and not value.whole
            and not any(placement.is_partial() for placement in value.placements)
        ),
        None,
    )
    if like is None:
        return spread_of(inputs)(run(*wholes(inputs), **wholes(options)))
    parts = [part_like(value, like) for value in inputs]
    more = {name: part_like(each, like) for name, each in options.items()}
    found = run(*parts, **more)
    if isinstance(found, tuple):
        return tuple(Distributed(each, like.mesh, like.placements, shape) for each in found)
    return Distributed(np.asarray(found), like.mesh, like.placements, shape)


def summands(value: Any) -> bool:
    """Whether ranks have summands of an array, and nothing is cut."""
    return isinstance(value, Distributed) and any(p == Partial() for p in value.placements)


def addable(value: Any) -> bool:
    """Whether an array can be a summand beside others on its mesh, without a message."""
    return isinstance(value, Distributed) and all(
        p == Partial() or p.is_replicate() for p in value.placements
    )


def part_like(value: Any, like: Distributed) -> Any:
    """This rank's part of an operand of an elementwise function, beside one in parts."""
    shape = shape_of(value)
    if isinstance(value, Distributed):
        if value.shape == like.shape and value.placements == like.placements:
            return value.local
    elif not isinstance(value, np.ndarray):
        return value
    ahead = len(like.shape) - len(shape)
    placements = [
        Shard(p.dim - ahead)
        if isinstance(p, Shard) and p.dim >= ahead and shape[p.dim - ahead] > 1
        else Replicate()
        for p in like.placements
    ]
    if isinstance(value, Distributed):
        if value.placements == tuple(placements):
            return value.local
        value = value.full()
    return cut(value, like.mesh, placements).local if shape else value


def write(place: Any, value: Any, where: Any = True) -> None:
    """Overwrite an array, or its elements `where` that says so; it keeps how it lies."""
    if where is not True:
        value = by_element(np.where, (where, value, place), {})
    if isinstance(place, Distributed):
        if shape_of(value) != place.shape or not isinstance(value, Distributed):
            spread_out = np.broadcast_to(wholes(value), place.shape)
            value = cut(spread_out, place.mesh, [Replicate()] * place.mesh.ndim)
        np.copyto(place.local, value.moved(place.placements).local, casting="same_kind")
    else:
        place[...] = wholes(value)
