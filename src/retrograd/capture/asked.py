"""Values that a step asks of tensors, such as `loss.item()`, and what it makes of them.

NOTE [Asked values]
1. In the first run such a value is a number or a text of Python's. Its class says which step of the
   recording gave it: a replay asks again. Arithmetic with it, `round`, `math.sqrt` and f-strings
   give other values of this kind.
2. A comparison is noted, and so is a test of truth. Where a replay finds another answer, another
   recording is gone on with, or made: `Compiled.turned`.
3. The value may be returned, printed, logged, appended to a list, or given to functions that a
   replay calls again: NOTE [Foreign calls]. Any other use ends the recording, because a replay
   would go on with the value of the first run. But beside a tensor of floating or complex dtype,
   `+`, `-`, `*`, `/` and comparisons take a number as a tensor without dimensions, and an array as
   a tensor, which each replay makes (`recording.beside`, `recording.same_shape`).
4. `tolist()` gives a list, whose numbers are such values, and `numpy()` an array that is one.
5. The text of a tensor is one, too: a replay makes it of a tensor with a node of the same kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .steps import Result

__all__ = ["Asked", "Bail", "Turned", "asked", "holds", "mentions", "turn", "unasked"]


TREES = (list, tuple, dict, slice)


class Bail(Exception):  # noqa: N818 (no error)
    """A shape is another one than in the recording, or an error was raised; nothing is done yet."""


class Turned(Bail):
    """The branch with this number goes another way than in the recording; nothing is done yet."""


def turn(truth: Any, value: bool, place: int) -> None:
    """Raise Turned unless a truth is that of the recording."""
    if bool(truth) is not value:
        raise Turned(place)


class Asked:
    """A value that a step of a recording gives: NOTE [Asked values]."""

    step: int
    recording: Any
    plain: Any  # what it is without this class
    place: tuple[int, ...] = ()  # in the list that the step gives

    def __bool__(self) -> bool:
        return bool(self.recording.agreed(Result(self.step, self.place), bool(unasked(self))))

    def __reduce__(self) -> Any:
        return (KINDS[type(self)], (unasked(self),))


# What Python's own functions do with a value, such as `sorted`, where no watch sees it.
UNSEEN = (
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv"),
    *("mod", "rmod", "divmod", "rdivmod", "pow", "rpow", "neg", "pos", "abs", "invert", "lshift"),
    *("rlshift", "rshift", "rrshift", "and", "rand", "or", "ror", "xor", "rxor", "lt", "le", "gt"),
    *("ge", "eq", "ne", "hash", "index", "int", "float", "complex", "round", "trunc", "floor"),
    *("ceil", "format", "str", "repr", "contains", "iter", "len", "getitem", "setitem", "array"),
    *("iadd", "isub", "imul", "itruediv", "array_ufunc", "array_function", "matmul", "rmatmul"),
)


def _unseen(kind: type, name: str) -> Any:
    plain = getattr(kind, name)

    def method(self: Asked, *args: Any) -> Any:
        self.recording.stop("a value of a tensor is used where that cannot be noted")
        return plain(unasked(self), *unasked(args))

    method.__name__ = name
    return method


def _kind(kind: type) -> type:
    names = [f"__{name}__" for name in UNSEEN]
    methods = {name: _unseen(kind, name) for name in names if hasattr(kind, name)}
    return type(f"Asked{kind.__name__.title()}", (Asked, kind), methods)


SCALARS: Any = (np.float16, np.float32, np.float64, np.int32, np.int64, np.complex64, np.complex128)
ASKED = {kind: _kind(kind) for kind in (int, float, complex, str, *SCALARS)}
ASKED[np.ndarray] = _kind(np.ndarray)
KINDS = {made: kind for kind, made in ASKED.items()}


def asked(value: Any, step: int, recording: Any, place: tuple[int, ...] = ()) -> Any:
    """A value as one that a step of a recording gives."""
    if type(value) is list:
        return [asked(v, step, recording, (*place, i)) for i, v in enumerate(value)]
    kind: Any = ASKED[type(value)]
    made = value.view(kind) if isinstance(value, np.ndarray) else kind(value)
    made.step, made.recording, made.place = step, recording, place
    made.plain = value
    recording.values.append(made)
    return made


def unasked(value: Any, in_place: bool = False, known: Any = None) -> Any:
    """`value` with Python's own numbers and text in it; `in_place`, its lists and dictionaries stay
    the same objects. Those `known` are done."""
    kind: Any = type(value)
    if kind in KINDS:
        return value.plain
    if not (kind in (list, dict) or isinstance(value, tuple)) or not mentions(value):
        return value
    known = {} if known is None else known
    if id(value) in known:
        return known[id(value)]
    if isinstance(value, tuple):
        parts = [unasked(v, in_place, known) for v in value]
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
    made = known[id(value)] = value if in_place else kind()
    if kind is list:
        made[:] = [unasked(v, in_place, known) for v in value]
    else:
        plain = {unasked(key): unasked(v, in_place, known) for key, v in value.items()}
        made.clear()
        made.update(plain)
    return made


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
            waiting += [*each, *each.values()] if isinstance(each, dict) else each
    return False
