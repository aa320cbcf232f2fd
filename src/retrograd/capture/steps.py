"""The steps of a recording, and what stands for other things among their arguments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Call", "Effect", "Result", "Root", "Slot", "Step", "Truth", "leaves", "places_in"]


class Slot(int):
    """The number of a value of a program, where it stands among other arguments."""

    __slots__ = ()


class Step:
    """What a replay does again."""

    gives: Any = ()  # the slots that it gives, and did not have

    @cached_property
    def reads(self) -> list[int]:
        """The slots that it reads."""
        return [*dict.fromkeys(places_in([*vars(self).values()]))]


@dataclass(eq=False)
class Call(Step):
    """A function of arrays, what it takes, in which slots stand for arrays, and what it gives."""

    function: Any
    args: tuple[Any, ...]
    options: dict[str, Any]
    made: Any  # a slot, a tuple of such things, or None for what is no array

    @cached_property
    def gives(self) -> list[int]:
        """The slots that it gives, and did not have."""
        return [s for s in leaves(self.made) if s is not None and s not in self.reads]


@dataclass(eq=False)
class Truth(Step):
    """A branch on a value: a replay in which it is another one ends here."""

    slot: Slot
    value: bool


@dataclass(eq=False)
class Effect(Step):
    """A call that a replay makes again, outside of the arithmetic.

    `args` are objects, among which `Slot` stands for an array and `Root` for a tensor; `made` are
    slots of the arrays of the tensors among its results, by their places.
    """

    function: Any
    args: tuple[Any, ...]
    options: dict[str, Any]
    made: tuple[int, ...]


class Root(NamedTuple):
    """A tensor that was there before: its number among the roots."""

    number: int


class Result(NamedTuple):
    """The step that gives a value of Python's, where it stands among arguments; its place there."""

    step: int
    place: tuple[int, ...] = ()


def leaves(value: Any) -> list[Any]:
    """What is in nested tuples and lists."""
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def places_in(value: Any, wanted: Any = Slot) -> Iterator[Any]:
    """The slots in a tree of arguments, or what else is `wanted`."""
    kind = value.__class__
    if kind is wanted:
        yield value
    elif kind is dict or kind is list or kind is tuple:
        for part in value.values() if kind is dict else value:
            yield from places_in(part, wanted)
