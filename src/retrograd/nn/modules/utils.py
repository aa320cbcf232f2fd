"""What layers share in their constructors: sizes given as one number, and empty parameters."""

from __future__ import annotations

from typing import Any

from ..parameter import Parameter, empty

__all__ = ["empty", "empty_parameter", "ntuple"]


def ntuple(value: Any, size: int) -> tuple[Any, ...]:
    """A sequence as a tuple, or one value repeated `size` times."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * size


def empty_parameter(shape: tuple[int, ...], place: Any, dtype: Any) -> Parameter:
    """An uninitialized parameter, for the layer to draw."""
    return Parameter(empty(shape, place, dtype))
