"""Factories: tensors from data, from nothing, and like other tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..engine.tensor import Tensor, device, new_tensor, set_requires_grad

__all__ = ["tensor"]


def finish(array: Any, requires_grad: bool) -> Tensor:
    """The new leaf tensor around `array`."""
    made = new_tensor(array)
    if requires_grad:
        set_requires_grad(made, True)
    return made


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A leaf tensor with a copy of `data`: a number, nested sequences of them, or an array.

    The dtype, if not given, is bool, int64, the default dtype, or its complex dtype for Python
    numbers, and the data's own for arrays and tensors. Source: PyTorch's `tensor`.

    >>> import retrograd as rg
    >>> rg.tensor([[1, 2], [3, 4]]).dtype, rg.tensor(1.5).shape
    (retrograd.int64, retrograd.Size([]))
    """
    check_device(device)
    if isinstance(data, Tensor):
        array = np.array(data.array)
    elif isinstance(data, (np.ndarray, np.generic)):
        array = np.array(data)
    else:
        array = from_python(data)
    if dtype is not None:
        array = array.astype(dtypes.to_numpy(dtype), copy=False)
    dtypes.of_numpy(array.dtype)
    return finish(array, requires_grad)


def from_python(data: Any) -> Any:
    """Numbers in nested sequences, tensors among them allowed, as an array of the default kind."""
    array = np.array(unwrap(data))
    if array.dtype.kind == "f" and not holds_arrays(data):
        return array.astype(dtypes.default_numpy())
    if array.dtype.kind == "c" and not holds_arrays(data):
        return array.astype(dtypes.complex_of(dtypes.default_numpy()))
    if array.dtype.kind not in "biufc":
        raise TypeError(f"expected numbers in nested sequences of one shape, got {data!r}")
    return array


def unwrap(data: Any) -> Any:
    """`data` with its tensors replaced by arrays."""
    if isinstance(data, Tensor):
        return data.array
    return [unwrap(item) for item in data] if isinstance(data, (list, tuple)) else data


def holds_arrays(data: Any) -> bool:
    """Whether nested sequences hold NumPy values, whose dtype is kept."""
    if isinstance(data, (list, tuple)):
        return len(data) > 0 and holds_arrays(data[0])
    return isinstance(data, (np.ndarray, np.generic, Tensor))


def check_device(spec: Any) -> None:
    """Raise unless `spec` is None or names a device that is here."""
    if spec is not None:
        device(spec)
