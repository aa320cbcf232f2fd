"""Names for annotations: PyTorch's `torch.types`."""

from __future__ import annotations

from os import PathLike
from typing import IO, Any, TypeAlias

from .engine.tensor import Size, Tensor, device

__all__ = ["Device", "FileLike", "Number", "Size", "Tensor"]

Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = str | PathLike[str] | IO[Any]
Number: TypeAlias = int | float | bool
