"""What layers share in their constructors: sizes given as one number, and empty parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...engine.tensor import Tensor, device, new_tensor
from ..parameter import Parameter

__all__ = ["empty", "empty_parameter", "ntuple"]


def ntuple(value: Any, size: int) -> tuple[Any, ...]:
    """A sequence as a tuple, or one value repeated `size` times."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * size


def empty(shape: tuple[int, ...], place: Any, dtype: Any) -> Tensor:
    """An uninitialized tensor on the device `place`."""
    if place is not None:
        device(place)
    target = dtypes.default_numpy() if dtype is None else dtypes.to_numpy(dtype)
    return new_tensor(np.empty(shape, target))


def empty_parameter(shape: tuple[int, ...], place: Any, dtype: Any) -> Parameter:
    """An uninitialized parameter, for the layer to draw."""
    return Parameter(empty(shape, place, dtype))
