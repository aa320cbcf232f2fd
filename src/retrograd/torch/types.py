"""Names for annotations: PyTorch's `torch.types`."""

from __future__ import annotations

from os import PathLike
from typing import IO, Any, TypeAlias

from ..dtypes import dtype
from ..engine.placement import Symbol
from ..engine.tensor import Size, Tensor, device

__all__ = ["Device", "FileLike", "Number", "Size", "Tensor"]

Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = str | PathLike[str] | IO[Any]
Number: TypeAlias = int | float | bool
_device: TypeAlias = device  # PyTorch's names, which libraries import
_dtype: TypeAlias = dtype
_size: TypeAlias = Size | list[int] | tuple[int, ...]


class SymFloat(Symbol):
    """The type of real numbers that are symbols: what exported graphs compute of sizes."""


class SymBool(Symbol):
    """The type of truth values that PyTorch's compiler keeps as symbols: none is one here."""
