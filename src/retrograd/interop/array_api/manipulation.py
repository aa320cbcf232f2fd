"""Shapes, joining and taking apart, under the standard's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...engine.tensor import Tensor
from ...ops import moveaxis, tile
from ...ops import unbind as unstack
from ...ops.core.dims import normalize_dims
from ...ops.core.engine_ops import clone
from .arguments import promoted, shape_of

__all__ = [
    "concat", "expand_dims", "flip", "moveaxis", "permute_dims", "repeat", "reshape", "roll",
    "squeeze", "stack", "tile", "unstack",
]  # fmt: skip


def concat(arrays: Any, /, *, axis: int | None = 0) -> Tensor:
    """Arrays joined along `axis`, flattened first if that is None; they promote together.

    >>> xp.concat([xp.asarray([1]), xp.asarray([2.5])])
    tensor([1.0000, 2.5000])
    """
    arrays = promoted(arrays)
    if axis is None:
        return ops.cat([x.reshape(-1) for x in arrays])
    return ops.cat(arrays, axis)


def stack(arrays: Any, /, *, axis: int = 0) -> Tensor:
    """Arrays of one shape joined along a new axis; they promote together.

    >>> xp.stack([xp.asarray([1, 2]), xp.asarray([3, 4])], axis=1)
    tensor([[1, 3],
            [2, 4]])
    """
    return ops.stack(promoted(arrays), axis)


def expand_dims(x: Tensor, /, axis: Any = 0) -> Tensor:
    """The array with new axes of size 1 at the places `axis` of the result.

    Raises IndexError out of range, RuntimeError for one place twice. The standard has one axis,
    NumPy several.

    >>> xp.expand_dims(xp.ones(3), axis=-1).shape
    retrograd.Size([3, 1])
    """
    if not isinstance(axis, (tuple, list)):
        return ops.unsqueeze(x, axis)
    for place in sorted(normalize_dims(tuple(axis), x.ndim + len(axis))):
        x = ops.unsqueeze(x, place)
    return x


def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    """The array without the axes at `axis`, an integer or several, which have size 1.

    Raises ValueError where they do not.

    >>> xp.squeeze(xp.ones((1, 3)), axis=0).shape
    retrograd.Size([3])
    """
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    for place in axes:
        if -x.ndim <= place < x.ndim and x.shape[place] != 1:
            raise ValueError(
                f"squeeze(): axis {place} of an array of shape {list(x.shape)} has size "
                f"{x.shape[place]}, not 1. Leave it out, or index it: x[..., 0]"
            )
    return ops.squeeze(x, tuple(axes))


def permute_dims(x: Tensor, /, axes: Any) -> Tensor:
    """The axes in another order.

    >>> xp.permute_dims(xp.ones((1, 2, 3)), (2, 0, 1)).shape
    retrograd.Size([3, 1, 2])
    """
    return ops.permute(x, tuple(axes))


def reshape(x: Tensor, /, shape: Any, *, copy: bool | None = None) -> Tensor:
    """The elements in another shape, of which one size may be -1.

    Shares memory if `copy` is False (ValueError where it cannot), never if True.

    >>> xp.reshape(xp.arange(4), (2, -1))
    tensor([[0, 1],
            [2, 3]])
    """
    if copy is False:
        try:
            return x.view(shape_of(shape))
        except RuntimeError as error:
            raise ValueError(f"reshape(): copy=False, but {error}") from error
    found = x.reshape(shape_of(shape))
    return clone(found) if copy else found


def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    """The elements in reverse along `axis`, or along every one.

    >>> xp.flip(xp.asarray([1, 2, 3]))
    tensor([3, 2, 1])
    """
    return ops.flip(x, range_of(x) if axis is None else axis)


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """The elements moved on by `shift` along `axis`, round the end; flattened if that is None.

    Several shifts and several axes go in pairs, one goes with all.

    >>> xp.roll(xp.asarray([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    if axis is None:
        return ops.roll(x, int(np.sum(shift)))
    shifts, axes = np.broadcast_arrays(np.atleast_1d(shift), axis)
    return ops.roll(x, tuple(shifts.tolist()), tuple(axes.tolist()))


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Every element repeated, as often as `repeats` says, an integer or one for each.

    Flattened if `axis` is None.

    >>> xp.repeat(xp.asarray([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    if isinstance(repeats, (list, tuple)):
        repeats = ops.as_tensor(np.asarray(repeats, np.int64))
    return ops.repeat_interleave(x, repeats, axis)


def range_of(x: Tensor) -> tuple[int, ...]:
    """The tuple of all axes."""
    return tuple(range(x.ndim))
