"""What steps of a recording read and give: helpers of those who write programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .recording import Call, Slot, Truth
from .storages import Part

__all__ = ["is_group", "leaves", "made_by", "moved", "places_in", "slots_of"]


def moved(item: Any, placed: dict[Any, Any], registers: list[Any]) -> Any:
    """A loop or group whose parts say where they are: without a place, in `registers`."""

    def at(part: Any) -> Any:
        if not isinstance(part, Part):
            return part
        if placed[part.storage] is None:
            placed[part.storage] = ("register", len(registers))
            registers.append(part.storage)
        return part._replace(storage=placed[part.storage])

    def loop(each: Any) -> Any:
        return each._replace(out=at(each.out), operands=tuple(map(at, each.operands)))

    return item._replace(loops=tuple(map(loop, item.loops))) if is_group(item) else loop(item)


def is_group(item: Any) -> bool:
    """Whether something is a group of loops."""
    return bool(item.kind == "group")


def leaves(value: Any) -> list[Any]:
    """What is in nested tuples and lists."""
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def places_in(value: Any) -> Iterable[int]:
    """The slots in a tree of arguments."""
    if isinstance(value, Slot):
        yield int(value)
    elif isinstance(value, dict):
        yield from places_in(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from places_in(part)


def slots_of(step: Any) -> Iterable[int]:
    """The slots that a step reads."""
    if isinstance(step, Truth):
        return [step.slot]
    return [*places_in(step.args), *places_in(step.options)]


def made_by(step: Any) -> Sequence[int]:
    """The slots that a step gives, and did not have."""
    if not isinstance(step, Call):
        return []
    waiting, found, given = [step.made], list[int](), set(slots_of(step))
    while waiting:
        made = waiting.pop()
        if isinstance(made, tuple):
            waiting += made
        elif made is not None and made not in given:
            found.append(made)
    return found
