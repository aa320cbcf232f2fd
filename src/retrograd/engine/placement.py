"""How large a tensor is and where it lies, and what programs store on it.

What they store lies in the instance's dictionary, where the hot path reads the engine's own part
(NOTE [What the hot path reads] in `tensor`). A program that copies `x.__dict__` to another tensor
means its part: the other's gradient, history and views are not those of `x`. So it is shown
`Attributes`.
"""

from __future__ import annotations

import functools
import operator
import re
import threading
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, overload

from .. import version
from .naming import integer_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Self, TypeVar

    F = TypeVar("F", bound="Callable[..., Any]")


NO_ACCELERATOR = (
    "Cannot access accelerator device when none is available: tensors live on the cpu. Ask "
    "is_available() first."
)


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple of integers or symbols; TypeError for other items.

    >>> rg.ones(2, 3).shape, rg.ones(2, 3).shape.numel()
    (retrograd.Size([2, 3]), 6)
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = ()) -> Size:
        """The size of these integers or symbols."""
        found: list[Any] = []
        for place, size in enumerate(sizes):
            try:
                found.append(size if hasattr(type(size), "is_symbol") else operator.index(size))
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

    Others can be named: `as_device` refuses them. As a context, or decorator, it is where new
    tensors are made. RuntimeError for a name that is no device, or an index given twice; entered,
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
        if integer_in(type) is not None:
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
                f"string: {kind}. Tensors live on the cpu: leave the device away, or write 'cpu'"
            )
        if number and index is not None:
            raise RuntimeError(
                "type (string) must not include an index because index was passed explicitly: "
                f"{kind}:{number}"
            )
        place = integer_in(index)
        if index is not None and place is None:
            raise TypeError(f"the index of a device must be an int, not {index.__class__.__name__}")
        if place is not None and place < 0:
            raise RuntimeError(f"Device index must not be negative, got {index}")
        self.type = kind
        self.index = int(number) if number else place

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __enter__(self) -> Self:
        """A context in which new tensors live there; AssertionError where none can."""
        default.entered = (*default.entered, default.device)
        default.device = as_device(self)
        return self

    def __exit__(self, *exc: object) -> None:
        *default.entered, default.device = default.entered

    def __call__(self, function: F) -> F:
        """The function within the context: new tensors live there."""
        as_device(self)

        @functools.wraps(function)
        def placed(*args: Any, **given: Any) -> Any:
            with self:
                return function(*args, **given)

        return placed  # type: ignore[return-value]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


DeviceLike: TypeAlias = device | str | int | None  # what a `device` argument may be

CPU = device("cpu")
META = device("meta")


class Default(threading.local):
    """The device on which the calling thread makes tensors, and those that contexts had before."""

    device: device = CPU
    entered: Any = ()


default = Default()


def as_device(spec: Any) -> device:
    """The device that `spec` names; AssertionError where no tensor can live on it.

    >>> from retrograd.engine.placement import as_device
    >>> as_device("cpu")
    device(type='cpu')
    """
    found = spec if spec.__class__ is device else device(spec)
    if found.type not in ("cpu", "meta"):
        raise AssertionError(
            f"{version.called.title()} not compiled with {found.type.upper()} enabled: tensors "
            "live on the cpu. Leave the device argument out, or write device='cpu'."
        )
    return found


class Held:
    """A descriptor for an instance's whole dictionary: `everything.__get__(x)` is that of x."""

    __slots__ = ("__dict__", "__weakref__")


everything: Any = vars(Held)["__dict__"]


class Stored(Held):
    """A base of `Tensor`: `vars(x)` is what programs store on `x`, without the names in `_kept`."""

    __slots__ = ()
    _kept: frozenset[str] = frozenset()

    @property
    def __dict__(self) -> Any:
        return Attributes(everything.__get__(self), self._kept)

    @__dict__.setter
    def __dict__(self, value: Any) -> None:
        held = everything.__get__(self)
        kept = {name: held[name] for name in held if name in self._kept}
        everything.__set__(self, {**value, **kept})


class Attributes(MutableMapping[str, Any], dict[str, Any]):  # type: ignore[misc,metaclass]
    """A tensor's dictionary without the names in `hidden`; a dict to those who ask for its type.

    >>> x = rg.ones(2, requires_grad=True)
    >>> x.sum().backward()
    >>> x.note = 3
    >>> vars(x)
    {'note': 3}
    """

    def __init__(self, held: dict[str, Any], hidden: frozenset[str]) -> None:
        self.held, self.hidden = held, hidden
        dict.update(self, self.copy())  # for `dir`, which asks no method

    def __getitem__(self, name: str) -> Any:
        if name in self.hidden:
            raise KeyError(name)
        return self.held[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name in self.hidden:
            raise AttributeError(
                f"{name} is what the engine keeps on a tensor. Choose another name"
            )
        self.held[name] = value

    def __delitem__(self, name: str) -> None:
        if name in self.hidden:
            raise KeyError(name)
        del self.held[name]

    def __iter__(self) -> Iterator[str]:
        return iter([name for name in self.held if name not in self.hidden])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        return repr(self.copy())

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self))

    def copy(self) -> dict[str, Any]:
        """An ordinary dictionary of the same names."""
        return {name: self.held[name] for name in self}

    def __or__(self, other: Any) -> Any:
        return self.copy() | other

    def __ror__(self, other: Any) -> Any:
        return other | self.copy()

    def __ior__(self, other: Any) -> Any:
        for name, value in dict(other).items():
            self[name] = value
        return self

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:  # what copies and pickles hold
        return dict, (self.copy(),)
