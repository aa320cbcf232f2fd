"""Values that a step asks of tensors, such as `loss.item()`, and what it makes of them.

NOTE [Asked values]
1. In the first run such a value is a number or a text of Python's. Its class says which step of the
   recording gave it: a replay asks again. Arithmetic with it, `round`, `math.sqrt` and f-strings
   give other values of this kind.
2. A comparison is noted, and so is a test of truth. Where a replay finds another answer, another
   recording is gone on with, or made: `Compiled.turned`.
3. The value may be returned, printed, logged, or appended to a list. Any other use ends the
   recording, because a replay would go on with the value of the first run. But beside a tensor of
   floating or complex dtype, `+`, `-`, `*`, `/` and comparisons take it as a tensor without
   dimensions, which each replay makes (`recording.number_beside`).
"""

from __future__ import annotations

from typing import Any

__all__ = ["Asked", "Bail", "Turned", "agree", "asked", "holds", "mentions", "turn", "unasked"]


TREES = (list, tuple, dict, slice)


class Bail(Exception):  # noqa: N818 (no error)
    """A shape is another one than in the recording, or an error was raised; nothing is done yet."""


class Turned(Bail):
    """The branch with this number goes another way than in the recording; nothing is done yet."""


def turn(truth: Any, value: bool, place: int) -> None:
    """Raise Turned unless a truth is that of the recording."""
    if bool(truth) is not value:
        raise Turned(place)


def agree(function: Any, args: Any, value: bool, place: int) -> None:
    """Raise Turned unless a function of values is as true as in the recording."""
    turn(function(*args), value, place)


class Asked:
    """A value that a step of a recording gives: NOTE [Asked values]."""

    step: int
    recording: Any

    def __bool__(self) -> bool:
        return bool(self.recording.agreed(bool, (self,)))

    def __reduce__(self) -> Any:
        return (KINDS[type(self)], (unasked(self),))


# What Python's own functions do with a value, such as `sorted`, where no watch sees it.
UNSEEN = (
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv"),
    *("mod", "rmod", "divmod", "rdivmod", "pow", "rpow", "neg", "pos", "abs", "invert", "lshift"),
    *("rlshift", "rshift", "rrshift", "and", "rand", "or", "ror", "xor", "rxor", "lt", "le", "gt"),
    *("ge", "eq", "ne", "hash", "index", "int", "float", "complex", "round", "trunc", "floor"),
    *("ceil", "format", "str", "repr", "contains", "iter", "len", "getitem"),
)


def _unseen(kind: type, name: str) -> Any:
    plain = getattr(kind, name)

    def method(self: Asked, *args: Any) -> Any:
        self.recording.stop("a value of a tensor is used where that cannot be noted")
        return plain(unasked(self), *unasked(args))

    return method


def _kind(kind: type) -> type:
    names = [f"__{name}__" for name in UNSEEN]
    methods = {name: _unseen(kind, name) for name in names if hasattr(kind, name)}
    return type(f"Asked{kind.__name__.title()}", (Asked, kind), methods)


CLASSES = {kind: _kind(kind) for kind in (int, float, complex, str)}
KINDS = {made: kind for kind, made in CLASSES.items()}
AS_THEY_ARE: Any = {
    int: int.__index__, float: float.__float__, str: str.__str__, complex: complex.__pos__
}  # fmt: skip


def asked(value: Any, step: int, recording: Any) -> Any:
    """A value as one that a step of a recording gives."""
    made: Any = CLASSES[type(value)](value)
    made.step, made.recording = step, recording
    return made


def unasked(value: Any, in_place: bool = False) -> Any:
    """`value` with Python's own numbers and text in it; `in_place`, its lists and dictionaries stay
    the same objects."""
    kind = type(value)
    if kind in KINDS:
        return AS_THEY_ARE[KINDS[kind]](value)
    if isinstance(value, tuple) and mentions(value):
        parts = [unasked(v, in_place) for v in value]
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
    if kind is list and mentions(value):
        found: Any = [unasked(v, in_place) for v in value]
        if in_place:
            value[:] = found
        return value if in_place else found
    if kind is dict and mentions(value):
        found = {key: unasked(v, in_place) for key, v in value.items()}
        if in_place:
            value.update(found)
        return value if in_place else found
    return value


def mentions(value: Any) -> bool:
    """Whether there is such a value in a tree of arguments."""
    return holds(value, Asked)


def holds(tree: Any, kinds: Any) -> bool:
    """Whether there is an object of some kinds in a tree of arguments, which may hold itself."""
    if not isinstance(tree, TREES):
        return isinstance(tree, kinds)
    waiting, seen = [tree], set[int]()
    for each in waiting:  # which grows
        if isinstance(each, kinds):
            return True
        if isinstance(each, TREES) and id(each) not in seen:
            seen.add(id(each))
            if isinstance(each, slice):
                each = each.start, each.stop, each.step  # noqa: PLW2901
            waiting += each.values() if isinstance(each, dict) else each
    return False
