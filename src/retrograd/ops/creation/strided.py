"""Uninitialised tensors whose order in memory is given: by strides, or by a permutation."""

from __future__ import annotations

import math
from typing import Any

from ... import dtypes
from ...engine.overriding import FACTORIES, named_in
from ...engine.tensor import Tensor
from ...kernels.memory import strided
from ..core.arguments import public
from ..core.dims import sequence
from .factories import empty, shape_of
from .from_data import check_dtype, finish

__all__ = ["empty_permuted", "empty_strided"]


@named_in(FACTORIES)
def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """An uninitialised tensor of shape `size` with the steps `stride`, in elements, in memory.

    Raises RuntimeError for a negative step, or lengths that differ.

    >>> rg.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    target = dtypes.default_numpy() if dtype is None else check_dtype(dtype, "empty_strided")
    shape, steps = shape_of((size,), "empty_strided"), sequence(stride, "empty_strided", "stride")
    if len(shape) != len(steps):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides "
            f"({len(steps)})"
        )
    if min(steps, default=0) < 0:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(shape)} and "
            f"strides={list(steps)}: strides are not negative"
        )
    last = sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
    count = last + 1 if math.prod(shape) else 0
    room = empty(count, dtype=dtypes.of_numpy(target), device=device)._array
    strides = [step * target.itemsize for step in steps]
    return finish(strided(room, shape, strides), requires_grad)


@named_in(FACTORIES)
def empty_permuted(
    size: Any,
    physical_layout: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """An uninitialised tensor of shape `size`, its dimensions in memory in the order given.

    Raises RuntimeError unless `physical_layout` is a permutation.

    >>> rg.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
    (12, 1, 3)
    """
    shape = shape_of((size,), "empty_permuted")
    order = sequence(physical_layout, "empty_permuted", "physical_layout")
    if len(shape) != len(order):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(shape)} is not equal to len(physical_layout) = {len(order)}"
        )
    if not all(0 <= d < len(shape) for d in order):
        raise RuntimeError(f"Dimension out of range: {list(order)} for shape {list(shape)}")
    if len(set(order)) != len(order):
        raise RuntimeError("Duplicate dim not allowed")
    steps, step = [0] * len(shape), 1
    for d in reversed(order):
        steps[d] = step
        step *= shape[d]
    settings = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return empty_strided(shape, steps, **settings)


@public(methods="new_empty_strided")
def new_empty_strided(self: Tensor, size: Any, stride: Any, **settings: Any) -> Tensor:
    """`empty_strided` with the dtype of this tensor, unless one is given."""
    if settings.get("dtype") is None:
        settings["dtype"] = self.dtype
    if settings.get("device") is None:
        settings["device"] = self.device
    return empty_strided(size, stride, **settings)
