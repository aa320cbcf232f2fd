"""Names for annotations, and types of numbers that are symbols: PyTorch's `torch.types`."""

from __future__ import annotations

from os import PathLike
from typing import IO, Any, TypeAlias

from ..dtypes import dtype
from ..engine.tensor import Size, Tensor, device

__all__ = ["Device", "FileLike", "Number", "Size", "Tensor"]

Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = str | PathLike[str] | IO[Any]
Number: TypeAlias = int | float | bool
_device: TypeAlias = device  # PyTorch's names, which libraries import
_dtype: TypeAlias = dtype
_size: TypeAlias = Size | list[int] | tuple[int, ...]


class Symbol:
    """Base of types of numbers that are kept as symbols."""

    __slots__ = ()

    is_symbol = True  # shapes keep it as it is: `Size`

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
    >>> nt = rg.nested.nested_tensor([[1, 2], [3]], layout=rg.jagged)
    >>> isinstance(nt.shape[1], rg.SymInt)
    True
    """

    __slots__ = ()


class SymFloat(Symbol):
    """The type of real numbers that are symbols: what exported graphs compute of sizes."""


class SymBool(Symbol):
    """The type of truth values that PyTorch's compiler keeps as symbols: none is one here."""
