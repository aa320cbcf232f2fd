"""New arrays, under the standard's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes, ops
from ...engine.tensor import Tensor
from ...ops import empty_like, full_like, ones_like, zeros_like
from ...ops.creation import from_data
from ...ops.tensor.dlpack import from_dlpack as import_dlpack
from .arguments import length_of, promoted, shape_of

__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like",
    "linspace", "meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Tensor:
    """A tensor from numbers, nested sequences, an array, or whatever exports DLPack.

    Shares memory where it can, unless `copy`; a tensor keeps its history. Raises ValueError where
    `copy=False` cannot be had.

    >>> xp.asarray([1.0, 2.0])
    tensor([1., 2.])
    """
    if hasattr(obj, "__dlpack__") and not isinstance(obj, (Tensor, np.ndarray, np.generic)):
        obj = import_dlpack(obj)
    return ops.asarray(obj, dtype=dtype, device=device, copy=copy)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array: see `retrograd.from_dlpack`.

    >>> xp.from_dlpack(np.arange(3))
    tensor([0, 1, 2])
    """
    return import_dlpack(x, device=device, copy=copy)


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """The numbers from `start` (0, if only `stop` is given) to before `stop`.

    Empty where `step` leads away from `stop`.

    >>> xp.arange(3), xp.arange(3, 0)
    (tensor([0, 1, 2]), tensor([], dtype=retrograd.int64))
    """
    first, last = (0, start) if stop is None else (start, stop)
    if length_of(first, last, step) == 0:
        last, step = first + 0 * last, step * 0 + 1  # of the same kinds
    return ops.arange(first, last, step, dtype=dtype, device=device)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Tensor:
    """`num` numbers at equal distances from `start` to `stop`, which is left out if not `endpoint`.

    >>> xp.linspace(0, 1, 4, endpoint=False)
    tensor([0.0000, 0.2500, 0.5000, 0.7500])
    """
    if endpoint:
        return ops.linspace(start, stop, num, dtype=dtype, device=device)
    return ops.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array of uninitialised memory.

    >>> xp.empty((2, 3)).shape
    retrograd.Size([2, 3])
    """
    return ops.empty(shape_of(shape), dtype=dtype, device=device)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array of zeros.

    >>> xp.zeros(2)
    tensor([0., 0.])
    """
    return ops.zeros(shape_of(shape), dtype=dtype, device=device)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array of ones.

    >>> xp.ones(2)
    tensor([1., 1.])
    """
    return ops.ones(shape_of(shape), dtype=dtype, device=device)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array of one value, of its kind's default dtype.

    >>> xp.full(2, 7)
    tensor([7, 7])
    """
    return ops.full(shape_of(shape), fill_value, dtype=dtype, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: Any = None,
) -> Tensor:
    """A matrix of zeros with ones on diagonal `k`.

    >>> xp.eye(2, 3, k=1)
    tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    from_data.check_device(device)
    target = dtypes.default_numpy() if dtype is None else dtypes.to_numpy(dtype)
    return from_data.finish(np.eye(n_rows, n_cols, k, target), False)


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """The coordinates of a grid over 1-D arrays, which promote together.

    With "xy" the first two dimensions are swapped. Raises RuntimeError for another `indexing`.

    >>> xp.meshgrid(xp.asarray([1, 2]), xp.asarray([3, 4]))[0]
    tensor([[1, 2],
            [1, 2]])
    """
    if not arrays:
        return []
    return list(ops.meshgrid(*promoted(arrays), indexing=indexing))


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The part on and below diagonal `k`, zeros elsewhere.

    >>> xp.tril(xp.ones((2, 2)))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return ops.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The part on and above diagonal `k`, zeros elsewhere.

    >>> xp.triu(xp.ones((2, 2)))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return ops.triu(x, k)
