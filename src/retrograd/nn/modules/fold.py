"""Patches of images, and images put together from patches."""

from __future__ import annotations

from collections.abc import Sequence

from ...engine.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["Fold", "Unfold"]


class Unfold(Module):
    """Patches of images as columns: (N, C, H, W) to (N, C * kernel elements, positions).

    N is optional; real or complex. Raises RuntimeError for other shapes.

    >>> x = rg.arange(6.0).reshape(1, 1, 2, 3)
    >>> rg.nn.Unfold(2)(x)
    tensor([[[0., 1.],
             [1., 2.],
             [3., 4.],
             [4., 5.]]])
    """

    _shown_settings = "kernel_size= dilation= padding= stride="

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        stride: int | Sequence[int] = 1,
    ) -> None:
        super().__init__()
        self.kernel_size, self.dilation = kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, input: Tensor) -> Tensor:
        """The patches of `input`."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Module):
    """The transpose of `Unfold`: columns added up at their places in an image.

    (N, C * kernel elements, positions) to (N, C, *output_size), N optional; real or complex. Raises
    RuntimeError for other shapes.

    >>> rg.nn.Fold((1, 3), (1, 2))(rg.ones(1, 2, 2))
    tensor([[[[1., 2., 1.]]]])
    """

    _shown_settings = "output_size= kernel_size= dilation= padding= stride="

    def __init__(
        self,
        output_size: int | Sequence[int],
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        stride: int | Sequence[int] = 1,
    ) -> None:
        super().__init__()
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        """The columns `input` added up."""
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )
