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
from math import prod
from typing import Any

import numpy as np

from ..engine.transforms.watch import Watcher
from ..kernels.memory import address
from .grouping import parts_of
from .primitives import Loop, may_view, primitive, slots
from .recording import Call, Recording, Slot
from .steps import leaves
from .storages import Opaque, Part, Storage, Storages, like, owner_of, steps_of
from .traced import TracedArray

__all__ = ["Lowering", "Undrawn"]

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


def expanded(step: Call, recording: Recording) -> tuple[Any, Any, Expansion]:
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
    given = {int(slot): traced for slot, traced in copies.items()}
    function = step.function
    if isinstance(getattr(function, "loops", None), np.ufunc):  # of a door
        function = function.loops
    if is_numpys(function):
        found = inner.call(function, args, options)
    else:
        with Undrawn():
            found = function(*args, **options)
    return found, given, inner


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


class Lowering:
    """Lowers the calls of one recording, one after the other."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.world = Storages()
        self.reasons: dict[int, str] = {}
        self.kept: list[Any] = []  # so that places in memory stay those of one array

    def lowered(self, step: Any) -> list[Loop] | None:
        """The loops of a step, or None."""
        if not isinstance(step, Call):
            return None
        try:
            return self.loops(step)
        except (Opaque, TypeError, ValueError, KeyError, NotImplementedError) as error:
            self.reasons[id(step)] = f"{type(error).__name__}: {error}"
            return None

    def outer(self, slot: int) -> Part:
        """The part that an array of the recording is."""
        array = self.recording.arrays[slot]
        if not array.flags.aligned:
            raise Opaque("memory that is not aligned")
        if self.world.find(array) is None:
            whole = array if slot in self.recording.root_slots else owner_of(array)
            self.world.enter(whole, Storage("slot", slot, whole))
        return self.world.part(array)

    def loops(self, step: Call) -> list[Loop]:
        """The loops of a call."""
        every = self.recording.arrays
        if not slots([*step.args, *step.options.values()]):
            raise Opaque("no arrays")
        found, given, inner = expanded(step, self.recording)
        arrays = inner.arrays
        local = Storages()
        for slot, traced in given.items():
            outer = self.outer(slot)
            if local.find(traced.array) is None:
                local.enter(traced.array, outer.storage, outer.offset)
        results: dict[int, int] = {}
        pair(found, step.made, results, inner)
        for slot, number in results.items():
            array, mine = arrays[slot], every[number]
            if array.shape != mine.shape or array.dtype != mine.dtype or not array.size:
                raise Opaque("a result of another shape, or empty")
            if steps_of(array) != steps_of(mine):
                raise Opaque("a result lies in another way")
            if local.find(array) is None:  # new memory
                outer = self.outer(number)
                whole = owner_of(array)
                if whole.nbytes != owner_of(mine).nbytes:
                    raise Opaque("a result in larger memory")
                local.enter(whole, outer.storage, outer.offset - (address(array) - address(whole)))
            elif local.part(array)[:2] != self.outer(number)[:2]:
                raise Opaque("a result that is a view there, and new here")
        for number, array in enumerate(arrays):
            if not array.size:
                raise Opaque("empty")
            if local.find(array) is None and number not in inner.constants:
                whole = owner_of(array)
                local.enter(whole, Storage("inner", number, whole))
        for made_here in (arrays[slot] for slot in results):
            if any(np.may_share_memory(made_here, c) for c in inner.constants.values()):
                raise Opaque("a view of a constant")
        self.kept.append((step, arrays))
        made: list[Loop] = []
        for each in inner.steps:
            if not isinstance(each, Call):
                raise Opaque("a branch on a value")
            made += primitive(each, arrays, local, inner.constants, self.world)
        if any(prod(part.shape) > MOST for loop in made for part in parts_of(loop)):
            raise Opaque("large")
        return made


def pair(found: Any, made: Any, results: dict[int, int], inner: Recording) -> None:
    """Match what an expansion gives with the slots of the call."""
    if isinstance(made, tuple):
        for f, m in zip(found, made, strict=True):
            pair(f, m, results, inner)
    elif made is not None:
        if isinstance(found, (np.ndarray, np.generic)):
            raise Opaque("a constant result")
        if not isinstance(found, TracedArray):
            raise Opaque(f"a {type(found).__name__} as a result")
        results[found.slot] = made
