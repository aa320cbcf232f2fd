"""Guards: what has to be as it was when a function was recorded, for a replay to be right.

Conditions are Python expressions, compiled together to one function of the arguments of a call.
"""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from .foreign import way_of
from .recording import is_known, is_plain

__all__ = ["MISSING", "PARTS", "Guards"]

# What a tensor has beside its array, node and version where it is more than plain data.
BESIDE = ("_inference", "_lent", "_tangents", "_turns", "_view_of")

MISSING = type("Missing", (), {"__repr__": lambda self: "missing"})()
VIEWS: Any = (type({}.keys()), type({}.values()), type({}.items()))
LONGEST = 256  # a container with more elements is not guarded
PYTHONS = sys.stdlib_module_names - {"types", "typing"}  # modules whose objects may change
CONSTANT = (str, bytes, int)
PARTS = ("func", "args", "keywords")  # of a `functools.partial`
KEYS = (*CONSTANT, bool, type(None))


def is_bound(value: Any) -> bool:
    """Whether something is a method of a built-in object, which may change."""
    if not isinstance(value, (types.BuiltinMethodType, types.MethodWrapperType)):
        return False
    owner = value.__self__
    return owner is not None and not isinstance(owner, (types.ModuleType, type))


def is_changeable(value: Any) -> bool:
    """Whether something holds elements that nobody sees change: Python's, or built on that."""
    if isinstance(value, (list, dict, set, frozenset)):
        return True
    kind = type(value)
    known = kind.__module__.partition(".")[0] in PYTHONS or type(kind).__module__ == "_ctypes"
    if not known or isinstance(value, (type, range)):
        return False
    return hasattr(kind, "__len__") or hasattr(kind, "__getitem__")


def tensor_name(read: str) -> str:
    """What a tensor is called in a reason."""
    return "a tensor" if read.startswith("o") else read


class Guards:
    """Conditions so far, and the objects that they name."""

    def __init__(self) -> None:
        self.conditions: dict[str, str] = {}  # and what each is about
        self.late: dict[str, str] = {}  # those of what a backward pass reads in its time
        self.sizes: set[str] = set()  # those of the sizes and strides of arguments
        self.open = self.conditions  # those to which more are added
        self.names: dict[str, Any] = {"MISSING": MISSING}
        self.known: dict[int, str] = {}  # names of objects, by id
        self.changed: set[int] = set()  # ids of the lists to which the step has appended
        self.within: set[int] = set()  # ids of the containers whose elements are being guarded
        self.argument: Any = None  # what tells of a tensor among arguments, which are seen first

    def name(self, value: Any) -> str:
        """The name of an object in the conditions."""
        found = self.known.get(id(value))
        if found is None:
            found = self.known[id(value)] = f"o{len(self.names)}"
            self.names[found] = value
        return found

    def add(self, condition: str, about: str) -> None:
        """One more condition."""
        self.open.setdefault(condition, about)

    def same(self, read: str, value: Any, about: str) -> str:
        """Let what the expression `read` gives be `value` again; why that cannot be, or ''."""
        kind = type(value)
        if value is None or kind is bool or value is NotImplemented or value is Ellipsis:
            self.add(f"({read}) is {value!r}", about)
        elif kind in (*CONSTANT, float, complex):
            by_text = kind in (float, complex) and (value == 0 or "nan" in repr(value))
            again = f"repr(v) == {repr(value)!r}" if by_text else f"v == {self.name(value)}"
            self.add(f"(v := {read}).__class__ is {self.name(kind)} and {again}", about)
        elif self.argument is not None and isinstance(value, Tensor):
            self.argument(read, value)
        elif kind in (list, dict, set, frozenset) or isinstance(value, tuple):
            return self.container(read, value, about)
        elif is_changeable(value):
            return f"a {kind.__name__} from outside ({about})"
        elif isinstance(value, np.ndarray):
            return f"an array of NumPy's ({about})"
        elif hasattr(type(value), "__next__"):
            return f"an iterator from outside ({about})"
        elif isinstance(value, VIEWS) or (is_bound(value) and not way_of(value)):
            return f"a {kind.__name__} from outside ({about})"
        else:
            self.add(f"({read}) is {self.name(value)}", about)
            if kind is types.FunctionType:
                return self.function(value, about)
            if isinstance(value, partial):
                return self.parts(value, PARTS, about)
        return ""

    def function(self, function: Any, about: str) -> str:
        """Let a function have the code that it has; why that cannot be, or ''."""
        self.add(f"{self.name(function)}.__code__ is {self.name(function.__code__)}", about)
        return self.parts(function, ("__defaults__", "__kwdefaults__"), about)

    def parts(self, owner: Any, names: Iterable[str], about: str) -> str:
        """Let attributes be as they are; why that cannot be, or ''."""
        name = self.name(owner)
        reasons = [self.same(f"{name}.{part}", getattr(owner, part), about) for part in names]
        return next(filter(None, reasons), "")

    def container(self, read: str, value: Any, about: str) -> str:
        """Let a container have the elements that it has."""
        kind = type(value)
        if id(value) in self.changed:
            return f"a list that the step has changed ({about})"
        if id(value) in self.within:
            return f"a container within itself ({about})"
        if len(value) > LONGEST and self.argument is None:
            return f"a container with {len(value)} elements ({about})"
        self.add(f"({read}).__class__ is {self.name(kind)}", about)
        if kind in (set, frozenset):
            if not all(type(v) in (*CONSTANT, float, bool) for v in value):
                return f"a set of objects ({about})"
            self.add(f"({read}) == {self.name(kind(value))}", about)
            return ""
        self.add(f"len({read}) == {len(value)}", about)
        if kind is dict and (why := self.keys(read, value, about)):
            return why
        items = value.items() if kind is dict else enumerate(value)
        self.within.add(id(value))
        reasons = [
            self.same(f"({read})[{key!r}]", part, f"{about}[{key!r}]") for key, part in items
        ]
        self.within.discard(id(value))
        return next(filter(None, reasons), "")

    def keys(self, read: str, value: dict[Any, Any], about: str) -> str:
        """Let a dictionary have the keys that it has; why that cannot be, or ''."""
        if not all(type(key) in KEYS for key in value):
            return f"a dictionary whose keys are objects ({about})"
        names = all(type(key) is str for key in value)
        alike = "" if names else f" and repr(list({read})) == {repr(list(value))!r}"
        self.add(f"list({read}) == {self.name(list(value))}{alike}", about)
        return ""

    def tensor(self, read: str, tensor: Tensor, facts: Any, leaf: bool) -> None:
        """Let a tensor lie in memory as it did, with a history if it had one: a `leaf`'s."""
        node, shape, strides, dtype, flags = facts
        about = f"the shape, dtype, strides or history of {tensor_name(read)}"
        sizes = f"a.shape == {shape!r} and a.strides == {strides!r}"
        lies = (
            f"(a := {read}._array).__class__ is {self.name(np.ndarray)} and a.dtype is "
            f"{self.name(dtype)} and a.ndim == {len(shape)} and a.flags.num == {flags}"
        )
        if read.startswith("o"):  # the very tensor, which mostly has the very array
            held = self.name(weakref.ref(tensor._array))  # `resize_` moves what nobody else holds
            lies = f"{read}._array is {held}() or {lies} and {sizes}"
        else:
            sizes = sizes.replace("a.", f"(a := {read}._array).", 1)
            self.add(sizes, about)
            self.sizes.add(sizes)
        self.add(lies, about)
        self.names["is_plain"] = is_plain
        beside = [f"{read}.{name}" for name in BESIDE]
        plain = "is_plain" if leaf or node is None or read.startswith("o") else "is_known"
        self.add(f"not ({' or '.join(beside)}) or {plain}({read})", about)
        if read.startswith("o"):  # the very tensor
            self.add(f"{read}._node is {self.name(node)}", about)
            self.add(f"{read}.__class__ is {self.name(type(tensor))}", f"the class of {about}")
            if node is not None:
                self.add(f"{self.name(node)}.hooks is None", f"hooks of {tensor_name(read)}")
        elif node is None:
            self.add(f"{read}._node is None", about)
        else:
            self.names["is_known"] = is_known
            self.add(f"{read}._node is not None and {plain}({read})", about)

    def check(self, conditions: Iterable[str]) -> Any:
        """The function `check(args, kwargs, state)` that says whether conditions hold.

        Those of sizes come first, for they fail most; it leaves them out if it is given `sized`.
        """
        lines = ["def check(args, kwargs, modes, sized=False):", "    try:"]
        for condition in sorted(conditions, key=lambda each: each not in self.sizes):
            either = "sized or " * (condition in self.sizes)
            lines.append(f"        if not ({either}({condition})): return False")
        lines.append("    except ABSENT: return False")
        lines.append("    return True")
        names = {**self.names, "ABSENT": (AttributeError, LookupError, TypeError, ValueError)}
        exec("\n".join(lines), names)
        return names["check"]

    def failing(self, args: Any, kwargs: Any, state: Any) -> str:
        """What the first condition is about that does not hold."""
        names = {**self.names, "args": args, "kwargs": kwargs, "modes": state}
        for condition, about in (self.conditions | self.late).items():
            try:
                if not eval(condition, names):
                    return about
            except Exception:  # what it reads is gone
                return about
        return ""
