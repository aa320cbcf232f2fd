"""Memory formats: the order in which the elements of a tensor lie in memory.

NumPy's strides say all that PyTorch's memory formats say. `channels_last` is the order in which the
channels of images (N, C, H, W) or volumes (N, C, D, H, W) are innermost; the shape stays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import version
from ...engine.registry import declare, name_node
from ...engine.tensor import Tensor
from ...errors import wrong_type
from ...kernels.allocation import has_memory, is_seen
from ...kernels.layout import channels_inside, row_strides, with_channels_inside
from ..core.engine_ops import clone

__all__ = [
    "channels_last", "channels_last_3d", "contiguous_format", "legacy_contiguous_format",
    "memory_format", "preserve_format",
]  # fmt: skip


class memory_format:  # noqa: N801 (PyTorch's name)
    """An order of the elements in memory: one of the four constants.

    >>> x = rg.zeros(2, 3, 4, 5).contiguous(memory_format=rg.channels_last)
    >>> x.stride(), x.is_contiguous(memory_format=rg.channels_last)
    ((60, 1, 15, 3), True)
    """

    __slots__ = ("name", "ndim")

    def __init__(self, name: str, ndim: int = 0) -> None:
        self.name, self.ndim = name, ndim

    def __repr__(self) -> str:
        return f"{version.called}.{self.name}"

    def __reduce__(self) -> str:
        return self.name


contiguous_format = legacy_contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last", 4)
channels_last_3d = memory_format("channels_last_3d", 5)


_reordered = declare(
    "reordered(input)",
    with_channels_inside,
    input=lambda xp, g: g,
    linear="input",
    batch=lambda xp, size, inputs, batched, /: xp.clone(inputs[0]),
    examples=["2x3x2x2", "1x2x2x1x2", "0x2x1x1"],
    node_name="CloneBackward0",
    doc="""A copy that has the second dimension, the channels, innermost in memory.""",
)


def check_format(format: Any, ndim: int, name: str) -> None:
    """Raise TypeError for what is no memory format, RuntimeError for one of other dimensions."""
    if not isinstance(format, memory_format):
        raise wrong_type(name, "memory_format", "retrograd.memory_format", format)
    if format.ndim and ndim != format.ndim:
        raise RuntimeError(
            f"required rank {format.ndim} tensor to use {format.name} format, but this one has "
            f"{ndim} dimensions. Leave memory_format out, or write contiguous_format"
        )


def lies_in(array: Any, format: memory_format) -> bool:
    """Whether the elements of an array lie in memory in that order, without gaps."""
    if format.ndim and array.ndim != format.ndim:
        return False
    if format.ndim and has_memory(array):  # a batch is in no order of its own
        array = np.moveaxis(array, 1, -1)
    return bool(array.flags.c_contiguous)


def dims_in(format: memory_format, ndim: int) -> tuple[int, ...]:
    """The dimensions in the order in which they lie in memory, outermost first."""
    return (0, *range(2, ndim), 1) if format.ndim else tuple(range(ndim))


def has_strides(array: Any, format: memory_format) -> bool:
    """Whether an array has the strides of that order, those of dimensions of size 1, too."""
    if not format.ndim or not is_seen(array):
        return lies_in(array, format)
    n, channels, *sizes = array.shape
    first, *middle, last = row_strides((n, *sizes, channels), array.itemsize)
    return bool(array.strides == (first, last, *middle))


def arranged(array: Any, format: Any) -> Any:
    """An array with the same elements in that order; itself where nothing is to do."""
    check_format(format, array.ndim, "empty")
    if format is preserve_format or has_strides(array, format):
        return array
    return with_channels_inside(array) if format.ndim else np.ascontiguousarray(array)


def in_format(t: Tensor, format: Any, name: str) -> Tensor:
    """The tensor if its elements lie in that order, else a copy in which they do."""
    check_format(format, t._array.ndim, name)
    if format is preserve_format or has_strides(t._array, format):
        return t
    return name_node(copied_in(t, format, name), "ToCopyBackward0")


def copied_in(t: Tensor, format: Any, name: str) -> Tensor:
    """A copy of the tensor whose elements lie in that order."""
    check_format(format, t._array.ndim, name)
    if format.ndim:
        return _reordered(t)
    if format is preserve_format or lies_in(t._array, format):
        return clone(t)
    return t.contiguous()


def in_order_of(like: Tensor, t: Tensor) -> Tensor:
    """The tensor, copied if need be to have its channels innermost where those of `like` are."""
    return _reordered(t) if channels_inside(like._array) else t
