"""What steps of a recording read and give: helpers of those who write programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .recording import Call, Slot, Truth

__all__ = ["leaves", "made_by", "places_in", "slots_of"]


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
