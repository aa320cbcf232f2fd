"""How large a tensor is and where it lies, and what else it may be given.

`Size` and `device`; what stands for an array; what programs store on a tensor.
"""

from __future__ import annotations

import functools
import operator
import re
import threading
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np

from .. import version
from ..locks import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Self, TypeVar

    F = TypeVar("F", bound="Callable[..., Any]")


NO_ACCELERATOR = (
    "Cannot access accelerator device when none is available: tensors live on the cpu. Ask "
    "is_available() first."
)


class Symbol:
    """Base of types of numbers that are kept as symbols."""

    __slots__ = ()

    def __new__(cls, *args: Any, **named: Any) -> Any:
        """Raise TypeError: no program makes one itself."""
        if cls.__base__ is not Symbol:
            return object.__new__(cls)
        raise TypeError(
            f"{cls.__name__}: no number is kept as a symbol, since Python itself is the program. "
            "Write int, float or bool"
        )


def plain(value: Any) -> Any:
    """A number that is a symbol, too, as sizes of exported graphs are, without that."""
    return value.real if isinstance(value, Symbol) and isinstance(value, (int, float)) else value


class SymInt(Symbol):
    """The type of sizes that are symbols: those in which components of a nested tensor differ.

    And those of exported graphs that may differ, while these are written down.

    >>> isinstance(rg.ones(2).shape[0], rg.SymInt)
    False
    """

    __slots__ = ()


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple of integers; TypeError for what is none.

    >>> rg.ones(2, 3).shape, rg.ones(2, 3).shape.numel()
    (retrograd.Size([2, 3]), 6)
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = ()) -> Size:
        """The sizes as Python's integers."""
        found: list[Any] = []
        for place, size in enumerate(sizes):
            try:
                found.append(size if isinstance(size, SymInt) else operator.index(size))
            except TypeError:
                raise TypeError(
                    f"{version.called}.Size() takes an iterable of 'int' (item {place} is "
                    f"'{type(size).__name__}')"
                ) from None
        return tuple.__new__(cls, found)

    def numel(self) -> int:
        """The product of all sizes."""
        n = 1
        for size in self:
            n *= size
        return n

    def __repr__(self) -> str:
        return f"{version.called}.Size({list(self)})"

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return tuple.__new__(Size, found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Size:
        if isinstance(other, tuple):
            return Size(tuple.__add__(self, other))
        if hasattr(type(other), "__radd__"):
            return NotImplemented
        kind = type(other).__name__
        raise TypeError(f"can only concatenate tuple (not {kind}) to {version.called}.Size")

    def __radd__(self, other: Any) -> Size:
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Size:
        return Size(tuple(self) * times)

    __rmul__ = __mul__


NAMED = re.compile("([a-zA-Z_]+)(?::(0|[1-9][0-9]*))?")


class device:  # noqa: N801 (PyTorch's name)
    """Where a tensor's memory lies: "cpu", or "meta" for tensors that have a shape and no data.

    Others can be named: `present` refuses them. As a context, or decorator, it is where new tensors
    are made. RuntimeError for a name that is no device, or an index given twice; entered,
    AssertionError where no tensor can live.

    >>> rg.device("cuda:1"), rg.ones(1).device.type
    (device(type='cuda', index=1), 'cpu')
    >>> with rg.device("meta"):
    ...     rg.ones(2, 3)
    tensor(..., device='meta', size=(2, 3))
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __init__(self, type: Any, index: int | None = None) -> None:
        if isinstance(type, int) and not isinstance(type, bool):
            raise RuntimeError(NO_ACCELERATOR)
        kind: Any = str(type) if isinstance(type, device) else type
        if not isinstance(kind, str):
            raise TypeError(f"device must be a string or a device, not {kind.__class__.__name__}")
        parts = NAMED.fullmatch(kind)
        if parts is None:
            said = f"Invalid device string: '{kind}'" if kind else "Device string must not be empty"
            raise RuntimeError(said)
        kind, number = parts.groups()
        if kind not in ("cpu", "cuda", "mps", "xpu", "meta"):
            raise RuntimeError(
                f"Expected one of cpu, cuda, mps, xpu, meta device type at start of device "
                f"string: {kind}"
            )
        if number and index is not None:
            raise RuntimeError(
                "type (string) must not include an index because index was passed explicitly: "
                f"{kind}:{number}"
            )
        if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
            raise TypeError(f"the index of a device must be an int, not {index.__class__.__name__}")
        if index is not None and index < 0:
            raise RuntimeError(f"Device index must not be negative, got {index}")
        self.type = kind
        self.index = int(number) if number else index

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __enter__(self) -> Self:
        """A context in which new tensors live there; AssertionError where none can."""
        default.entered = (*default.entered, default.device)
        default.device = present(self)
        return self

    def __exit__(self, *exc: object) -> None:
        *default.entered, default.device = default.entered

    def __call__(self, function: F) -> F:
        """The function within the context: new tensors live there."""
        present(self)

        @functools.wraps(function)
        def placed(*args: Any, **given: Any) -> Any:
            with self:
                return function(*args, **given)

        return placed  # type: ignore[return-value]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


CPU = device("cpu")
META = device("meta")


class Default(threading.local):
    """The device on which the calling thread makes tensors, and those that contexts had before."""

    device: device = CPU
    entered: Any = ()


default = Default()


def present(spec: Any) -> device:
    """The device that `spec` names; AssertionError where no tensor can live on it.

    >>> from retrograd.engine.placement import present
    >>> present("cpu")
    device(type='cpu')
    """
    found = spec if spec.__class__ is device else device(spec)
    if found.type not in ("cpu", "meta"):
        raise AssertionError(
            f"{version.called.title()} not compiled with {found.type.upper()} enabled: tensors "
            "live on the cpu. Leave the device argument out, or write device='cpu'."
        )
    return found


class Interpreted:
    """What has a shape and a dtype like an array, and carries out ops itself, such as a batch."""

    __slots__ = ()

    shape: tuple[int, ...]
    dtype: Any
    value: Any
    device: Any = property(lambda self: self.value._array.device)  # where the values lie

    def interpret(self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """What an op gives for inputs among which this is."""
        raise NotImplementedError

    def detached(self) -> Interpreted:
        """The same without any history."""
        raise NotImplementedError

    def detach(self, source: Any, made: Any) -> None:
        """Make `made`, a tensor without history that has this array of `source`, its alias."""
        made._array = self.detached()

    def turned(self, made: Any) -> None:
        """Called before a tensor that has this array has `made` instead, a view of all of it."""

    def lent(self, source: Any) -> None:
        """Called before another tensor than `source`, whose array it is, has it, too."""

    def check_data(self) -> None:
        """Raise where a tensor that has this array does not show it as its `data`."""

    def is_kept(self, others: Any) -> bool:
        """Whether nodes beneath may keep what a write to this that reads `others` changes."""
        return False

    def with_history(self, before: Any) -> Interpreted:
        """The same with the history that `before`, which it replaces, has beneath."""
        raise NotImplementedError

    def alike(self, made: Any) -> Interpreted:
        """What stands for `made` in the same way, so that values like this may be written to it."""
        raise NotImplementedError

    def zeroed(self, dtype: Any) -> Interpreted | None:
        """Zeros like this of a dtype, where they are not made by `alike`."""
        return None

    def shares_memory(self, other: Any) -> bool:
        """Whether this lies in the memory of another one."""
        raise NotImplementedError

    def check_room(self, target: Any) -> None:
        """Raise unless `target` may have this for its array from now on."""
        raise NotImplementedError

    def stored(self, target: Any) -> Interpreted:
        """The array of `target` once this was written to it: this, unless that keeps its own."""
        return self

    def settled(self, target: Any) -> None:
        """Called once it is the array of `target`."""


class Wrapper(Interpreted):
    """The array of a tensor whose class carries out ops: `library.below`.

    Formulas of nodes that saved one run on tensors: `saved.OnTensors`.
    """

    __slots__ = ()

    def tensor(self) -> Any:
        """The tensor, of its class, that shows it to users."""
        raise NotImplementedError

    def again(self) -> Any:
        """One like it, for another tensor with the same attributes."""
        raise NotImplementedError

    def ones(self) -> Any:
        """A tensor of its class that holds ones."""
        raise NotImplementedError


def shares_memory(x: Any, y: Any) -> bool:
    """Whether two arrays may show one memory, as those without elements always do."""
    if isinstance(y, Interpreted):
        return y.shares_memory(x)
    if isinstance(x, Interpreted):
        return False
    return 0 in (x.size, y.size) or bool(np.may_share_memory(x, y))


class Replaced(Interpreted):
    """What is replaced where it is written, has no history beneath it, and is no view of others.

    Elements have no places in it: NumPy's functions, and attributes of arrays, raise `refused`.
    """

    __slots__ = ()

    def refused(self, name: str) -> Exception:
        """The error for what it cannot do."""
        raise NotImplementedError

    def itself(self, *args: Any) -> Any:
        """The array itself."""
        return self

    detached = copy = with_history = itself  # type: ignore[assignment]

    def shares_memory(self, other: Any) -> bool:
        """False: nothing is a view of it."""
        return False

    def _has_no_elements(self, *args: Any, **kwargs: Any) -> Any:
        raise self.refused("__array__")

    __array__ = __getitem__ = __iter__ = __len__ = _has_no_elements
    __int__ = __float__ = __index__ = __bool__ = _has_no_elements
    __eq__ = __ne__ = _has_no_elements
    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and not name.startswith("__array"):
            raise AttributeError(name)
        raise self.refused(name)


def concrete(array: Any) -> Any:
    """The NumPy array behind a batch, for checks that every element has to pass."""
    while isinstance(array, Interpreted):
        array = array.value._array
    return array


def home_of(array: Any) -> Any:
    """An array that lives where new ones are made beside `array`.

    They are plain beside one of a class that carries out ops, which takes these in.
    """
    while isinstance(array, Interpreted):
        array = PLAIN if isinstance(array, Wrapper) else array.value._array
    return array


PLAIN = np.empty(0)


class Held:
    """What has a dictionary: `everything.__get__(x)` is that of x itself."""

    __slots__ = ("__dict__", "__weakref__")


everything: Any = vars(Held)["__dict__"]


class Stored(Held):
    """A base of `Tensor`: `vars(x)` is what programs store on `x`, without the names in `_kept`."""

    __slots__ = ()
    _kept: frozenset[str] = frozenset()

    @property
    def __dict__(self) -> Any:
        shown = load(f"{__package__}.attributes").Attributes
        return shown(everything.__get__(self), self._kept)

    @__dict__.setter
    def __dict__(self, value: Any) -> None:
        held = everything.__get__(self)
        kept = {name: held[name] for name in held if name in self._kept}
        everything.__set__(self, {**value, **kept})
