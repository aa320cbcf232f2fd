"""Convolutions with bent kernels: J. Dai et al., "Deformable convolutional networks" (2017)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .... import nn
from ....ops.creation.factories import arange
from ....ops.shape.join import stack
from .regions import both

if TYPE_CHECKING:
    from ....engine.tensor import Tensor

__all__ = ["deform_conv2d"]


def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = (1, 1),
    padding: Any = (0, 0),
    dilation: Any = (1, 1),
    mask: Tensor | None = None,
) -> Tensor:
    """A convolution (N, O, H', W') of (N, C, H, W) that reads each element of its kernel elsewhere.

    `weight` is (O, C / groups, h, w). `offset` (N, 2 * G * h * w, H', W') has, for G groups of
    channels and every element of the kernel, how far down and to the right it reads, between
    pixels, 0 outside; `mask` (N, G * h * w, H', W') is a factor (version 2). All but `stride`,
    `padding` and `dilation` have gradients. Raises RuntimeError for other shapes.

    >>> x, offset = rg.ones(1, 1, 3, 3), rg.zeros(1, 2, 3, 3)
    >>> rg.vision.ops.deform_conv2d(x, offset + 0.5, rg.ones(1, 1, 1, 1))[0, 0, 2]
    tensor([0.5000, 0.5000, 0.2500])
    """
    (down, right), (top, left), (rows, columns) = map(both, (stride, padding, dilation))
    outputs, depth, h, w = weight.shape
    batch, channels, tall, wide = input.shape
    height = (tall + 2 * top - rows * (h - 1) - 1) // down + 1
    width = (wide + 2 * left - columns * (w - 1) - 1) // right + 1
    groups, rest = divmod(offset.shape[1], 2 * h * w)
    if rest or not groups or channels % groups or offset.shape[2:] != (height, width):
        raise RuntimeError(
            "deform_conv2d: the shape of the offset should be (N, 2 * groups * kernel height * "
            f"kernel width, {height}, {width}). Got {tuple(offset.shape)} for an input "
            f"{tuple(input.shape)} and a weight {tuple(weight.shape)}"
        )
    made = {"dtype": input.dtype, "device": input.device}
    y = arange(h, **made)[:, None, None, None] * rows + arange(height, **made)[:, None] * down
    x = arange(w, **made)[:, None, None] * columns + arange(width, **made) * right
    moves = offset.reshape(batch * groups, h, w, 2, height, width)
    # grid_sample's coordinates, from -1 to 1 between the outer edges of pixels
    y = (2 * (y - top + moves[:, :, :, 0]) + 1) / tall - 1
    x = (2 * (x - left + moves[:, :, :, 1]) + 1) / wide - 1
    grid = stack((x, y), -1).reshape(batch * groups, h * w * height, width, 2)
    maps = input.reshape(batch * groups, channels // groups, tall, wide)
    read = nn.functional.grid_sample(maps, grid, align_corners=False)
    read = read.reshape(batch, groups, channels // groups, h * w, height * width)
    if mask is not None:
        read = read * mask.reshape(batch, groups, 1, h * w, height * width)
    kinds = channels // depth
    patches = read.reshape(batch, kinds, depth * h * w, height * width)
    out = weight.reshape(kinds, outputs // kinds, depth * h * w) @ patches
    out = out.reshape(batch, outputs, height, width)
    return out if bias is None else out + bias.reshape(-1, 1, 1)
