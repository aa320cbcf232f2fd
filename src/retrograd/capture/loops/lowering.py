"""From calls on arrays to loops on memory: what of a recording native code can do.

NOTE [Lowering]
1. A forward or a formula that was noted as one call is run once more, on copies of the arrays that
   it had, and now all that NumPy does in it is noted: its expansion. What is in that is lowered to
   `Loop`s: one of NumPy's elementary functions, a reduction, a product of matrices or a copy, over
   `Part`s of memory with places and strides that are known. A view is no work: it is such a part.
2. What has no such form, is large, or writes what it was given, stays the call that it was.
3. The arithmetic of `compiler.mathematics` is that of kernels; sums of float32 are added in
   float64, those of float64 with what rounding leaves.
"""

from __future__ import annotations

import operator
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ...engine.transforms.watch import Watcher
from ...kernels.layout import Turned
from ...kernels.memory import address
from ..recording import Formulas, Recording
from ..steps import Call, Slot, leaves
from ..traced import TracedArray
from .primitives import Loop, may_view, primitive, with_parts
from .storages import Opaque, Part, Storage, Storages, like, owner_of, steps_of

__all__ = ["Lowered", "Lowering", "Undrawn"]

MOST = 1 << 13  # elements of an array that a loop writes or reads


class Expansion(Recording):
    """A recording of what NumPy does in one call, which ends with an error."""

    def stop(self, reason: str) -> None:
        raise Opaque(reason)

    def call(self, function: Any, args: Any, options: Any) -> Any:
        """What a function gives for arrays, noted; of large ones views alone are made."""
        every = leaves([*args, *options.values()])
        large = any(isinstance(v, TracedArray) and v.array.size > MOST for v in every)
        if large and not may_view(function):
            raise Opaque("large")
        return super().call(function, args, options)


class Undrawn(Watcher):
    """Within it nothing is drawn: a stream of random numbers stays where it is."""

    def draw(self, proceed: Any) -> Any:
        """Raise Opaque."""
        raise Opaque("random numbers are drawn")


def expanded(step: Call, recording: Recording) -> tuple[Any, dict[int, Any], Expansion]:
    """What a call gives, the copies of its arrays by their slots, and what NumPy does in it."""
    inner = Expansion()
    copies: dict[int, Any] = {}

    def copy(value: Any) -> Any:
        if isinstance(value, Slot):
            if value in recording.constants:
                return inner.constant(recording.constants[value])
            if value not in copies:
                array = recording.arrays[value]
                if not array.size:
                    raise Opaque("empty")
                copies[value] = inner.slot(like(array, array.size <= MOST))
            return copies[value]
        if type(value) in (list, tuple):
            return type(value)([copy(v) for v in value])
        if type(value) is dict:
            return {key: copy(v) for key, v in value.items()}
        return value

    args, options = copy(step.args), copy(step.options)
    function = step.function
    if isinstance(getattr(function, "loops", None), np.ufunc):  # of a door
        function = function.loops
    if is_numpys(function):
        found = inner.call(function, args, options)
    else:
        with Undrawn():
            found = function(*args, **options)
    return found, copies, inner


def is_numpys(function: Any) -> bool:
    """Whether a function is NumPy's, which takes arrays as they are."""
    if isinstance(function, (np.ufunc, operator.attrgetter)):
        return True
    if function in (operator.getitem, operator.setitem, operator.pow):
        return True
    owner = getattr(function, "__objclass__", None)
    return (
        owner is np.ndarray
        or isinstance(getattr(function, "__self__", None), np.ufunc)
        or str(getattr(function, "__module__", "")).partition(".")[0] == "numpy"
    )


class Body(NamedTuple):
    """What all calls of one kind do, as loops on copies of what they are given and give."""

    loops: list[Loop]
    given: list[Storage]
    results: list[Part]
    used: list[Storage]
    written: set[Storage]


class Lowered(NamedTuple):
    """What one call does: that of its kind, whose storages that others share lie in `places`."""

    body: Body
    places: dict[Storage, tuple[Storage, int]]

    def loops(self) -> list[Loop]:
        """Its loops."""
        places = dict(self.places)

        def at(part: Part) -> Part:
            if part.storage not in places:
                places[part.storage] = Storage("inner", -1, part.storage.whole), 0
            mine, start = places[part.storage]
            return Part(mine, start + part.offset, *part[2:])

        return [with_parts(loop, at) for loop in self.body.loops]

    def written(self) -> set[Storage]:
        """What it writes that others share."""
        return {place[0] for own, place in self.places.items() if own in self.body.written}


VIEW = Lowered(Body([], [], [], [], set()), {})


class Lowering:
    """Lowers the calls of one recording, one after the other: each kind of call once."""

    def __init__(self, recording: Recording, can: Any = None) -> None:
        self.recording, self.can = recording, can
        self.world = Storages()
        self.reasons: dict[Call, str] = {}
        self.parts: dict[int, Part] = {}  # that arrays of the recording are, by slot
        self.wholes: dict[int, tuple[Storage, int]] = {}  # by id; their storages, where these begin
        self.roots = {*recording.root_slots}
        self.bodies: dict[Any, Body | str] = {}  # or why there is none

    def lowered(self, step: Any) -> Lowered | None:
        """What a step does as loops, or None."""
        if not isinstance(step, Call):
            return None
        given: dict[int, int] = {}  # slots by their order
        kind = None
        try:
            if self.is_view(step):
                return VIEW
            results = [slot for slot in leaves(step.made) if slot is not None]
            kind = self.kind((step.function, step.args, step.options), given)
            kind = kind, *map(self.layout, results)
            body = self.bodies.get(kind)
            if body is None:
                body = self.bodies[kind] = self.body(step, [*given], results)
            if isinstance(body, Body):
                return self.placed(body, [*given], results)
        except (Opaque, TypeError, ValueError, LookupError, NotImplementedError) as error:
            body = f"{type(error).__name__}: {error}"
            self.bodies.setdefault(kind, body)
        self.reasons[step] = body
        return None

    def is_view(self, step: Call) -> bool:
        """Whether a call gives memory that it is given, and does nothing else."""
        if not (step in self.recording.views or may_view(step.function)):
            return False
        if not step.gives or not self.recording.constants.keys().isdisjoint(step.reads):
            return False
        given = {self.outer(slot).storage for slot in step.reads}
        return all(self.outer(slot).storage in given for slot in step.gives)

    def kind(self, value: Any, given: dict[int, int]) -> Any:
        """What calls of one kind have in common: all but where their arrays are."""
        kind = value.__class__
        if kind is Slot:
            constant = self.recording.constants.get(value)
            if constant is not None:
                return id(constant) if constant.ndim else (constant.dtype, repr(constant.item()))
            if value in given:
                return given[value]
            given[value] = len(given)
            return self.layout(value)
        if kind is tuple or kind is list:
            return (kind, *[self.kind(v, given) for v in value])
        if kind is dict:
            return (kind, *value, *[self.kind(v, given) for v in value.values()])
        if kind is slice:
            return kind, value.start, value.stop, value.step
        if kind is Formulas:
            return kind, id(value.op), value.live, value.edges, id(value.xp)
        if kind is partial:
            return kind, self.kind((value.func, value.args, value.keywords), given)
        if kind is Turned:
            return kind, *value, value.columns, value.inside
        if kind in (int, float, complex, bool, str) or isinstance(value, np.generic):
            return kind, repr(value)
        return id(value)

    def layout(self, slot: int) -> Any:
        """How an array lies, wherever that is."""
        array = self.recording.arrays[slot]
        return array.shape, array.strides, array.dtype

    def outer(self, slot: int) -> Part:
        """The part that an array of the recording is."""
        if slot not in self.parts:
            array = self.recording.arrays[slot]
            if not array.flags.aligned:
                raise Opaque("memory that is not aligned")
            whole = array if slot in self.roots else owner_of(array)
            found = self.wholes.get(id(whole)) or self.world.find(array)
            if found is None:
                found = self.world.enter(whole, Storage("slot", slot, whole))
                self.wholes[id(whole)] = found
            self.parts[slot] = Part(found[0], address(array) - found[1], *self.layout(slot))
        return self.parts[slot]

    def placed(self, body: Body, given: list[int], results: list[int]) -> Lowered:
        """What a call does, which differs from what its kind does in where arrays are."""
        places: dict[Any, tuple[Any, int]] = {  # by storage of the body
            storage: self.outer(slot)[:2] for storage, slot in zip(body.given, given, strict=True)
        }
        arrays = self.recording.arrays
        for storage, slot in zip(body.given, given, strict=True):
            if storage in body.written:  # on copies, where nothing overlaps
                others = [arrays[other] for other in given if other != slot]
                if any(np.may_share_memory(arrays[slot], other) for other in others):
                    raise Opaque("overlapping memory")
        for slot, part in zip(results, body.results, strict=True):
            outer, known = self.outer(slot), places.get(part.storage)
            if known is None:  # new memory
                if part.storage.whole.nbytes != owner_of(arrays[slot]).nbytes:
                    raise Opaque("a result in larger memory")
                places[part.storage] = outer.storage, outer.offset - part.offset
            elif (known[0], known[1] + part.offset) != outer[:2]:
                raise Opaque("a result that is a view there, and new here")
        places |= {storage: (storage, 0) for storage in body.used if storage.kind == "constant"}
        return Lowered(body, {s: places[s] for s in body.used if s in places})

    def body(self, step: Call, given: list[int], results: list[int]) -> Body:
        """What a call does."""
        if not step.reads:
            raise Opaque("no arrays")
        found, copies, inner = expanded(step, self.recording)
        arrays, local = inner.arrays, Storages()

        for copy in [copies[slot].array for slot in given]:
            local.enter(copy, Storage("inner", -1, copy))
        for number, array in enumerate(arrays):
            if not array.size:
                raise Opaque("empty")
            if number not in inner.constants and local.find(array) is None:
                whole = owner_of(array)
                local.enter(whole, Storage("inner", -1, whole))
        gives = [arrays[slot] for slot in results_of(found, step.made)]
        known = list(inner.constants.values())
        if any(np.may_share_memory(array, constant) for array in gives for constant in known):
            raise Opaque("a view of a constant")
        for array, mine in zip(
            gives, [self.recording.arrays[slot] for slot in results], strict=True
        ):
            if array.shape != mine.shape or array.dtype != mine.dtype:
                raise Opaque("a result of another shape")
            if steps_of(array) != steps_of(mine):
                raise Opaque("a result lies in another way")
        made: list[Loop] = []
        for each in inner.steps:
            if not isinstance(each, Call):
                raise Opaque("a branch on a value")
            made += primitive(each, arrays, local, inner.constants, self.world)
        if any(prod(part.shape) > MOST for loop in made for part in loop.parts):
            raise Opaque("large")
        if self.can and not all(map(self.can, made)):
            raise Opaque("no code for a loop")
        given_in = [local.part(copies[slot].array).storage for slot in given]
        used = [*dict.fromkeys([part.storage for loop in made for part in loop.parts])]
        written = {loop.out.storage for loop in made}
        return Body(made, given_in, [*map(local.part, gives)], used, written)


def results_of(found: Any, made: Any) -> list[int]:
    """The slots of what an expansion gives, one for each that the call gives.

    What it put into a list beyond that (`with_filled`), a small array's forward did not.
    """
    if isinstance(made, tuple):
        return [s for f, m in zip(found, made, strict=False) for s in results_of(f, m)]
    if made is None:
        return []
    if isinstance(found, (np.ndarray, np.generic)):
        raise Opaque("a constant result")
    if not isinstance(found, TracedArray):
        raise Opaque(f"a {type(found).__name__} as a result")
    return [found.slot]
