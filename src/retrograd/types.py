"""Names for annotations: PyTorch's `torch.types`."""

from __future__ import annotations

from os import PathLike
from typing import IO, Any, TypeAlias

from .dtypes import dtype
from .engine.tensor import Size, Tensor, device

__all__ = ["Device", "FileLike", "Number", "Size", "Tensor"]

Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = str | PathLike[str] | IO[Any]
Number: TypeAlias = int | float | bool
_device: TypeAlias = device  # PyTorch's names, which libraries import
_dtype: TypeAlias = dtype
_size: TypeAlias = Size | list[int] | tuple[int, ...]


class Symbol:
    """Base of the types below: of no value here, since Python itself is the program."""

    def __new__(cls, *args: Any, **named: Any) -> Any:
        """Raise TypeError: nothing is traced as a symbol."""
        raise TypeError(
            f"{cls.__name__}: no number is kept as a symbol, since Python itself is the program. "
            "Write int, float or bool"
        )


class SymInt(Symbol):
    """The type of sizes that PyTorch's compiler keeps as symbols: no size is one.

    >>> isinstance(rg.ones(2).shape[0], rg.SymInt)
    False
    """


class SymFloat(Symbol):
    """The same of real numbers."""


class SymBool(Symbol):
    """The same of truth values."""
