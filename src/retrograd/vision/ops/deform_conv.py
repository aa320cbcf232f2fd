"""Convolutions with bent kernels: J. Dai et al., "Deformable convolutional networks" (2017)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ... import nn
from ...ops.creation.factories import arange, empty
from ...ops.shape.join import stack

if TYPE_CHECKING:
    from ...engine.tensor import Tensor

__all__ = ["DeformConv2d", "deform_conv2d"]


def pair(size: Any) -> tuple[int, int]:
    """(vertical, horizontal) of an int or a pair."""
    return (size, size) if isinstance(size, int) else (size[0], size[1])


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
    (down, right), (top, left), (rows, columns) = map(pair, (stride, padding, dilation))
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


class DeformConv2d(nn.Module):
    """`deform_conv2d` with a weight and a bias; the offset, and a mask, are inputs.

    >>> layer = rg.vision.ops.DeformConv2d(3, 8, 3, padding=1)
    >>> layer(rg.ones(1, 3, 4, 4), rg.zeros(1, 18, 4, 4)).shape
    retrograd.Size([1, 8, 4, 4])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{name} must be divisible by groups: got {channels} and {groups}")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = pair(kernel_size), pair(stride)
        self.padding, self.dilation = pair(padding), pair(dilation)
        self.weight = nn.Parameter(empty(out_channels, in_channels // groups, *self.kernel_size))
        if bias:
            self.bias = nn.Parameter(empty(out_channels))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw initial values as a convolution does."""
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(math.prod(self.weight.shape[1:]))
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor, offset: Tensor, mask: Tensor | None = None) -> Tensor:
        """The convolution."""
        settings = (self.stride, self.padding, self.dilation)
        return deform_conv2d(input, offset, self.weight, self.bias, *settings, mask)

    def extra_repr(self) -> str:
        """The settings."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        text += f", stride={self.stride}"
        for name, plain in (("padding", (0, 0)), ("dilation", (1, 1)), ("groups", 1)):
            if getattr(self, name) != plain:
                text += f", {name}={getattr(self, name)}"
        return text if self.bias is not None else f"{text}, bias=False"
