"""Channels become a finer grid of pixels, and back."""

from __future__ import annotations

from ...engine.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """(*, C * r^2, H, W) to (*, C, H * r, W * r): channels become positions.

    Any dtype. Raises RuntimeError for fewer than three dimensions, or channels that r^2 does not
    divide.

    >>> rg.nn.PixelShuffle(2)(rg.arange(4.0).reshape(1, 4, 1, 1))
    tensor([[[[0., 1.],
              [2., 3.]]]])
    """

    _shown_settings = "upscale_factor="

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """`input` at the higher resolution."""
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Module):
    """The inverse of `PixelShuffle`, (*, C, H * r, W * r) to (*, C * r^2, H, W).

    Any dtype. Raises RuntimeError for fewer than three dimensions, or sizes that r does not divide.

    >>> rg.nn.PixelUnshuffle(2)(rg.arange(4.0).reshape(1, 1, 2, 2)).flatten(1)
    tensor([[0., 1., 2., 3.]])
    """

    _shown_settings = "downscale_factor="

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """`input` at the lower resolution."""
        return F.pixel_unshuffle(input, self.downscale_factor)
