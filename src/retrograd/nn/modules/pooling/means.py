"""Means and norms over sliding windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....engine.tensor import Tensor
from ... import functional as F
from ..module import Module
from ..utils import ntuple

__all__ = ["AvgPool1d", "AvgPool2d", "AvgPool3d", "LPPool1d", "LPPool2d", "LPPool3d"]


class _AvgPoolNd(Module):
    """Means of windows; programs extend it, too."""

    _shown_settings = "kernel_size= stride= padding="
    kernel_size: Any
    stride: Any
    padding: Any


class _AvgPoolAny(_AvgPoolNd):
    """`function(input, kernel_size, stride, padding, ..., divisor_override)`."""

    function: Callable[..., Tensor]

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """The mean of each window."""
        return self.function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool1d(_AvgPoolNd):
    """Means of windows, whose stride is the kernel size by default.

    (N, C, L) to (N, C, L'), N optional, where L' = floor((L + 2 padding - kernel_size) / stride) +
    1, or rounded up with `ceil_mode`. `count_include_pad` says whether padding, which is zero,
    counts in the mean. Real or complex. Raises RuntimeError for other shapes and windows that do
    not fit. Source: PyTorch's `nn.AvgPool1d`.

    >>> rg.nn.AvgPool1d(2)(rg.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[2., 1.]])
    """

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = ntuple(kernel_size, 1)
        self.stride = ntuple(kernel_size if stride is None else stride, 1)
        self.padding = ntuple(padding, 1)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """The mean of each window."""
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )


class AvgPool2d(_AvgPoolAny):
    """Means of windows of images: (N, C, H, W) to (N, C, H', W'), N optional.

    Settings are as for `AvgPool1d`, each a number or a pair, and so is everything else.
    `divisor_override` replaces the number of elements in the mean.

    >>> rg.nn.AvgPool2d(2)(rg.ones(1, 1, 4, 4)).tolist()
    [[[[1.0, 1.0], [1.0, 1.0]]]]
    """

    function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPoolAny):
    """Means of windows of volumes: (N, C, D, H, W) to (N, C, D', H', W'), N optional.

    Settings are as for `AvgPool2d`, each a number or a triple, and so is everything else.

    >>> x = rg.arange(8.0).reshape(1, 2, 2, 2)
    >>> rg.nn.AvgPool3d(2)(x)
    tensor([[[[3.5000]]]])
    """

    function = staticmethod(F.avg_pool3d)


class _LPPoolNd(Module):
    """`function(input, norm_type, kernel_size, stride, ceil_mode)`."""

    _shown_settings = "norm_type= kernel_size= stride= ceil_mode="
    function: Callable[..., Tensor]

    def __init__(
        self,
        norm_type: float,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type, self.kernel_size = norm_type, kernel_size
        self.stride, self.ceil_mode = stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """The norm of each window."""
        return self.function(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class LPPool1d(_LPPoolNd):
    """(sum x^p)^(1/p) over windows, p = `norm_type`: (N, C, L) to (N, C, L'), N optional.

    L' is as for `AvgPool1d` without padding. Real or complex. Raises RuntimeError for other shapes.

    >>> rg.nn.LPPool1d(2, 2)(rg.tensor([[[3.0, 4.0]]]))
    tensor([[[5.]]])
    """

    function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPoolNd):
    """(sum x^p)^(1/p) over windows, p = `norm_type`: (N, C, H, W) to (N, C, H', W'), N optional.

    Everything else is as for `LPPool1d`.

    >>> rg.nn.LPPool2d(2, (1, 2))(rg.tensor([[[3.0, 4.0], [6.0, 8.0]]]))
    tensor([[[ 5.],
             [10.]]])
    """

    function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPoolNd):
    """(sum x^p)^(1/p) over windows, p = `norm_type`: (N, C, D, H, W) to (N, C, D', H', W').

    N is optional. Everything else is as for `LPPool1d`.

    >>> rg.nn.LPPool3d(2, 2)(rg.full((1, 2, 2, 2), 2.0))
    tensor([[[[5.6569]]]])
    """

    function = staticmethod(F.lp_pool3d)
