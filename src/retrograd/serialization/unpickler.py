"""An unpickler that makes data and runs nothing but what it is given.

NOTE [What a file may do]
1. A pickle is a program. Here its names are looked up in a table, never imported; what it calls,
   makes or fills must stand in that table, which holds functions that make data (`rebuilding`), or
   have been allowed by the user (`safe`). Comparison is by identity.
2. A state is given to these alone: an OrderedDict gets attributes, NumPy's arrays and dtypes get
   numbers that have been checked, objects of allowed classes get what pickle would give them.
3. Memory is bounded by the file: a number that it claims is held against what is there before
   anything is allocated, the memo is a dictionary, and functions that copy are charged for it.
4. Hashing a tuple hashes what is in it, each time, as deep as it goes: one that holds another
   twice, and that a third, has more parts than the file has bytes. So what is to be a key has few
   parts and no long numbers, and an error tells no more of a value than `told` does.
5. A broken pickle raises pickle.UnpicklingError, whatever it breaks.

Pickles of the protocols 2 to 5 are read, in which everything but names and long numbers is binary.
"""

from __future__ import annotations

import collections
import pickle
import struct
from collections.abc import Callable
from typing import Any

__all__ = ["FAILED", "Blind", "Inert", "Lookup", "Unpickler", "check_key", "failed", "told"]

FAILED = "Weights only load failed. "
NOT_CALLED = (
    "the file calls {what}, which makes none of the data that is loaded by default. If you trust "
    "whoever wrote the file: retrograd.load(f, weights_only=False)"
)
FILLED = (dict, collections.OrderedDict, collections.Counter)
PARTS = 256  # of a key, those within its parts counted
LONG = 4096  # bits of a number


class Stop(Exception):  # noqa: N818 (it ends a pickle, and is no error)
    """The end of a pickle, with what it holds."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


def failed(why: str) -> pickle.UnpicklingError:
    """The error for a file that cannot be loaded as data."""
    return pickle.UnpicklingError(FAILED + why)


def told(value: Any, deep: bool = True) -> str:
    """What a file has, for an error; of a tuple or list a few parts: rule 4 of the NOTE."""
    kind = value.__class__
    if kind in (tuple, list) and deep:
        parts = [told(part, deep=False) for part in value[:9]]
        return f"({', '.join([*parts, '...'] if len(value) > len(parts) else parts)})"
    if kind in (str, bytes):
        return repr(value[:200])
    short = value is None or kind in (bool, float, complex)
    if short or (kind is int and value.bit_length() < LONG):
        return repr(value)
    name: str = getattr(value, "__qualname__", kind.__name__)
    return name


def check_key(key: Any) -> None:
    """Raise unless hashing `key` takes little: NOTE [What a file may do], 4."""
    if key.__class__ is str:
        return
    waiting, room = [key], PARTS
    while waiting:
        part = waiting.pop()
        if isinstance(part, (slice, range)):
            part = (part.start, part.stop, part.step)
        if part.__class__ is int and part.bit_length() > LONG:
            raise failed(f"a key of a dictionary or set is a number of more than {LONG} bits")
        if isinstance(part, tuple):
            room -= len(part) + 1
            if room < 0:
                raise failed(f"a key of a dictionary or set has more than {PARTS} parts")
            waiting += part


class Lookup:
    """What a pickle's names stand for; one for each file that is read."""

    def find(self, module: str, name: str) -> Any:
        """The thing called so; raises UnpicklingError where it is not allowed."""
        raise NotImplementedError

    def persistent(self, key: Any) -> Any:
        """What is kept outside the pickle under that key."""
        raise failed("it refers to something outside of it, which this format does not have")

    def calls(self, function: Any) -> bool:
        """Whether the file may call `function`, which `find` gave it."""
        raise NotImplementedError

    def makes(self, kind: Any) -> bool:
        """Whether the file may make objects of a class, and fill them."""
        raise NotImplementedError

    def fill(self, made: Any, state: Any) -> None:
        """Give an object its state; raises UnpicklingError where that is not allowed."""
        raise NotImplementedError


class Inert:
    """Stands for whatever a pickle makes, and does nothing."""

    def __new__(cls, *args: Any, **named: Any) -> Any:
        """An object that ignores its arguments."""
        return super().__new__(cls)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Ignore the item."""

    def extend(self, values: Any) -> None:
        """Ignore the items."""


class Blind(Lookup):
    """Takes every name for one thing, which does nothing: for what a pickle refers to alone."""

    def find(self, module: str, name: str) -> Any:
        """What stands for all that could be called so."""
        return Inert

    def persistent(self, key: Any) -> Any:
        """What stands for what is kept outside."""
        return Inert()

    def calls(self, function: Any) -> bool:
        """Whether it can be called: it does nothing."""
        return function is Inert

    def makes(self, kind: Any) -> bool:
        """Whether it can be made: it does nothing."""
        return kind is Inert

    def fill(self, made: Any, state: Any) -> None:
        """Ignore the state."""


class Unpickler:
    """Reads one pickle from `file`, which has at most `size` more bytes."""

    def __init__(self, file: Any, size: int, lookup: Lookup, encoding: str = "utf-8") -> None:
        self.file, self.size, self.lookup, self.encoding = file, size, lookup, encoding
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}

    def load(self) -> Any:
        """The object that the pickle holds."""
        read, steps = self.file.read, STEPS
        try:
            while True:
                steps[read(1)](self)
        except Stop as end:
            return end.value
        except KeyError as error:
            raise failed(f"the pickle is broken, or of protocol 0 or 1: {error!r}") from None
        except BROKEN as error:
            raise failed(f"the pickle is broken: {error}") from error

    # -- bytes of the pickle -------------------------------------------------------------------

    def take(self, count: int) -> bytes:
        """The next bytes; no more are asked for than there can be."""
        content: bytes = self.file.read(count) if count <= self.size else b""
        if len(content) < count:
            raise failed(f"the pickle ends early: {count} more bytes were expected")
        return content

    def number(self, width: int) -> int:
        """The next unsigned integer of the pickle."""
        return int.from_bytes(self.take(width), "little")

    def line(self) -> str:
        """The next line of text: part of a name."""
        found: bytes = self.file.readline(1024)
        if not found.endswith(b"\n"):
            raise failed("the pickle ends early, within a name")
        return found[:-1].decode()

    def text(self, content: bytes) -> Any:
        """The string that Python 2 wrote as bytes."""
        return content if self.encoding == "bytes" else content.decode(self.encoding)

    # -- the stack -----------------------------------------------------------------------------

    def push(self, value: Any) -> None:
        """Put a value on the stack."""
        self.stack.append(value)

    def since_mark(self) -> list[Any]:
        """What was put on the stack since the last mark."""
        found = self.stack
        self.stack = self.marks.pop()
        return found

    def mark(self) -> None:
        """Begin a new group of values on the stack."""
        self.marks.append(self.stack)
        self.stack = []

    def remember(self, place: int) -> None:
        """Keep the value on top under a number."""
        self.memo[place] = self.stack[-1]

    def grouped(self, kind: Callable[..., Any]) -> None:
        """Make a container of the group since the mark."""
        self.push(kind(self.since_mark()))

    def tupled(self, count: int) -> None:
        """Make a tuple of the topmost values."""
        if len(self.stack) < count:
            raise IndexError("the stack has too few values")
        self.stack[-count:] = [tuple(self.stack[-count:])]

    def frozen(self) -> None:
        """Make a frozenset of the group."""
        parts = self.since_mark()
        for part in parts:
            check_key(part)
        self.push(frozenset(parts))

    # -- containers ----------------------------------------------------------------------------

    def append(self, values: list[Any]) -> None:
        """Append to the list on top."""
        target = self.stack[-1]
        if target.__class__ is not list and not self.lookup.makes(target.__class__):
            raise failed(f"it appends to {type(target).__name__}, which is no list")
        target.extend(values)

    def add(self, values: list[Any]) -> None:
        """Add to the set on top."""
        target = self.stack[-1]
        if target.__class__ is not set:
            raise failed(f"it adds to {type(target).__name__}, which is no set")
        for value in values:
            check_key(value)
        target.update(values)

    def enter(self, pairs: list[Any]) -> None:
        """Enter keys and values into the dictionary on top."""
        target = self.stack[-1]
        if target.__class__ not in FILLED and not self.lookup.makes(target.__class__):
            raise failed(f"it sets items of {type(target).__name__}, which is no dictionary")
        if len(pairs) % 2:
            raise ValueError("a key has no value")
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            check_key(key)
            target[key] = value

    def dictionary(self) -> None:
        """Make a dictionary of the group."""
        pairs = self.since_mark()
        self.push({})
        self.enter(pairs)

    # -- what the table allows -----------------------------------------------------------------

    def stack_name(self) -> None:
        """Look up the name on the stack."""
        name, module = self.stack.pop(), self.stack.pop()
        if module.__class__ is not str or name.__class__ is not str:
            raise TypeError("a name is no text")
        self.push(self.lookup.find(module, name))

    def reduce(self) -> None:
        """Call a function of the allowed table with the arguments on the stack."""
        args, function = self.stack.pop(), self.stack.pop()
        if args.__class__ is not tuple or not self.lookup.calls(function):
            raise failed(NOT_CALLED.format(what=told(function)))
        self.push(function(*args))

    def new(self, kwargs: bool) -> None:
        """Make an object of an allowed class."""
        named = self.stack.pop() if kwargs else {}
        args, kind = self.stack.pop(), self.stack.pop()
        if not self.lookup.makes(kind):
            raise failed(NOT_CALLED.format(what=told(kind)))
        self.push(kind.__new__(kind, *args, **named))

    def build(self) -> None:
        """Give the object on top its state."""
        state = self.stack.pop()
        self.lookup.fill(self.stack[-1], state)


BROKEN = (
    *(ValueError, TypeError, IndexError, OverflowError, AttributeError, StopIteration),
    *(struct.error, RecursionError),
)


def _stop(self: Unpickler) -> None:
    raise Stop(self.stack[-1])


def _fixed(layout: str) -> Callable[[Unpickler], None]:
    size = struct.calcsize(layout)
    return lambda self: self.push(struct.unpack(layout, self.take(size))[0])


def _counted(width: int, make: Callable[[Unpickler, bytes], Any]) -> Callable[[Unpickler], None]:
    return lambda self: self.push(make(self, self.take(self.number(width))))


def _long(self: Unpickler, content: bytes) -> int:
    return int.from_bytes(content, "little", signed=True)


def _bytes(self: Unpickler, content: bytes) -> bytes:
    return content


def _str(self: Unpickler, content: bytes) -> str:
    return content.decode("utf-8", "surrogatepass")


STEPS: dict[bytes, Callable[[Unpickler], Any]] = {
    pickle.PROTO: lambda self: self.take(1),
    pickle.FRAME: lambda self: self.take(8),
    pickle.STOP: _stop,
    pickle.MARK: Unpickler.mark,
    pickle.POP: lambda self: self.stack.pop(),
    pickle.POP_MARK: Unpickler.since_mark,
    pickle.DUP: lambda self: self.push(self.stack[-1]),
    pickle.NONE: lambda self: self.push(None),
    pickle.NEWTRUE: lambda self: self.push(True),
    pickle.NEWFALSE: lambda self: self.push(False),
    pickle.BININT: _fixed("<i"),
    pickle.BININT1: _fixed("<B"),
    pickle.BININT2: _fixed("<H"),
    pickle.BINFLOAT: _fixed(">d"),
    pickle.LONG1: _counted(1, _long),
    pickle.LONG4: _counted(4, _long),
    pickle.SHORT_BINSTRING: _counted(1, Unpickler.text),
    pickle.BINSTRING: _counted(4, Unpickler.text),
    pickle.SHORT_BINBYTES: _counted(1, _bytes),
    pickle.BINBYTES: _counted(4, _bytes),
    pickle.BINBYTES8: _counted(8, _bytes),
    pickle.BYTEARRAY8: _counted(8, lambda self, content: bytearray(content)),
    pickle.SHORT_BINUNICODE: _counted(1, _str),
    pickle.BINUNICODE: _counted(4, _str),
    pickle.BINUNICODE8: _counted(8, _str),
    pickle.EMPTY_TUPLE: lambda self: self.push(()),
    pickle.EMPTY_LIST: lambda self: self.push([]),
    pickle.EMPTY_DICT: lambda self: self.push({}),
    pickle.EMPTY_SET: lambda self: self.push(set()),
    pickle.TUPLE: lambda self: self.grouped(tuple),
    pickle.TUPLE1: lambda self: self.tupled(1),
    pickle.TUPLE2: lambda self: self.tupled(2),
    pickle.TUPLE3: lambda self: self.tupled(3),
    pickle.LIST: lambda self: self.grouped(list),
    pickle.FROZENSET: Unpickler.frozen,
    pickle.DICT: Unpickler.dictionary,
    pickle.APPEND: lambda self: self.append([self.stack.pop()]),
    pickle.APPENDS: lambda self: self.append(self.since_mark()),
    pickle.ADDITEMS: lambda self: self.add(self.since_mark()),
    pickle.SETITEM: lambda self: self.enter([self.stack.pop(), self.stack.pop()][::-1]),
    pickle.SETITEMS: lambda self: self.enter(self.since_mark()),
    pickle.BINGET: lambda self: self.push(self.memo[self.number(1)]),
    pickle.LONG_BINGET: lambda self: self.push(self.memo[self.number(4)]),
    pickle.BINPUT: lambda self: self.remember(self.number(1)),
    pickle.LONG_BINPUT: lambda self: self.remember(self.number(4)),
    pickle.MEMOIZE: lambda self: self.remember(len(self.memo)),
    pickle.GLOBAL: lambda self: self.push(self.lookup.find(self.line(), self.line())),
    pickle.STACK_GLOBAL: Unpickler.stack_name,
    pickle.BINPERSID: lambda self: self.push(self.lookup.persistent(self.stack.pop())),
    pickle.REDUCE: Unpickler.reduce,
    pickle.NEWOBJ: lambda self: self.new(kwargs=False),
    pickle.NEWOBJ_EX: lambda self: self.new(kwargs=True),
    pickle.BUILD: Unpickler.build,
}
