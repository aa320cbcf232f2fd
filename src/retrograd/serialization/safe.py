"""What the user has allowed files to use: classes and functions by name."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Any

from ..engine.tensor import Tensor

__all__ = [
    "add_safe_globals", "allowed", "clear_safe_globals", "get_safe_globals", "name_here",
    "safe_globals", "tensor_class",
]  # fmt: skip

_allowed: dict[str, Any] = {}  # by name; what was added, a thing or a pair of it and a name


def name_here(name: str) -> str:
    """A name of PyTorch's as one of this package; any other as it is."""
    return f"retrograd.{name[6:]}" if name.startswith("torch.") else name


def _name_of(thing: Any) -> str:
    if isinstance(thing, tuple):
        if len(thing) != 2 or not isinstance(thing[1], str):
            raise TypeError(
                f"add_safe_globals() expected a class, a function, or a pair of one and the name "
                f'that files have for it: (MyClass, "module.MyClass"). It got {thing!r}'
            )
        return name_here(thing[1])
    return name_here(f"{thing.__module__}.{thing.__qualname__}")


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Let files loaded with `weights_only=True` use these classes and functions, too.

    A pair `(thing, "module.name")` is allowed under that name. A file can then call it with any
    arguments. Source: PyTorch's `torch.serialization.add_safe_globals`.

    >>> from fractions import Fraction
    >>> rg.serialization.add_safe_globals([Fraction])
    >>> rg.serialization.get_safe_globals()
    [<class 'fractions.Fraction'>]
    >>> rg.serialization.clear_safe_globals()
    """
    _allowed.update({_name_of(thing): thing for thing in safe_globals})


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` has allowed.

    >>> rg.serialization.get_safe_globals()
    []
    """
    return list(_allowed.values())


def clear_safe_globals() -> None:
    """Take back all that `add_safe_globals` has allowed.

    >>> rg.serialization.clear_safe_globals()
    """
    _allowed.clear()


class safe_globals:  # noqa: N801 (PyTorch's name)
    """A context in which files may use these classes and functions, too.

    >>> from fractions import Fraction
    >>> with rg.serialization.safe_globals([Fraction]):
    ...     len(rg.serialization.get_safe_globals())
    1
    >>> rg.serialization.get_safe_globals()
    []
    """

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self.things = list(safe_globals)
        self.before: dict[str, Any] = {}  # what stood for their names

    def __enter__(self) -> None:
        self.before = {name: _allowed.get(name) for name in map(_name_of, self.things)}
        add_safe_globals(self.things)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name, thing in self.before.items():
            _allowed.pop(name, None)
            if thing is not None:
                _allowed[name] = thing


def allowed() -> dict[str, Any]:
    """The things themselves by their names here."""
    return {
        name: thing[0] if isinstance(thing, tuple) else thing for name, thing in _allowed.items()
    }


def tensor_class(name: str) -> type[Tensor] | None:
    """The class of tensors of that name, if there is one by now; none of its code is run."""
    waiting = list(Tensor.__subclasses__())
    while waiting:
        found = waiting.pop()
        if f"{found.__module__}.{found.__qualname__}" == name:
            return found
        waiting += found.__subclasses__()
    return None
