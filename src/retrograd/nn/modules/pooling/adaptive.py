"""Means and maxima over windows that follow from the size of the output."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....engine.tensor import Tensor
from ... import functional as F
from ..module import Module

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AdaptiveMaxPool3d",
]  # fmt: skip


class _AdaptivePool(Module):
    """The base of adaptive pools, which call `function(input, output_size)`."""

    _shown_settings = "output_size="
    function: Callable[..., Tensor]

    def __init__(self, output_size: int | Sequence[int]) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """`input` pooled to the output size."""
        return self.function(input, self.output_size)


class _AdaptiveAvgPoolNd(_AdaptivePool):
    """Means of as many windows as are wanted; programs extend it, too."""


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means of windows chosen so that (N, C, L) becomes (N, C, output_size), N optional.

    Window i goes from floor(i * L / n) to ceil((i + 1) * L / n). Floating or complex, else
    NotImplementedError. Raises RuntimeError for another number of dimensions. Source: PyTorch's
    `nn.AdaptiveAvgPool1d`.

    >>> rg.nn.AdaptiveAvgPool1d(2)(rg.tensor([[1.0, 2.0, 3.0]]))
    tensor([[1.5000, 2.5000]])
    """

    function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means of windows chosen so that (N, C, H, W) becomes (N, C, *output_size), N optional.

    A size of None keeps that of the input. Everything else is as for `AdaptiveAvgPool1d`.

    >>> x = rg.arange(16.0).reshape(1, 4, 4)
    >>> rg.nn.AdaptiveAvgPool2d((1, 2))(x)
    tensor([[[6.5000, 8.5000]]])
    """

    function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means of windows chosen so that (N, C, D, H, W) becomes (N, C, *output_size), N optional.

    A size of None keeps that of the input. Everything else is as for `AdaptiveAvgPool1d`.

    >>> x = rg.arange(8.0).reshape(1, 2, 2, 2)
    >>> rg.nn.AdaptiveAvgPool3d((1, 1, None))(x)
    tensor([[[[3., 4.]]]])
    """

    function = staticmethod(F.adaptive_avg_pool3d)


class _AdaptiveMaxPoolNd(_AdaptivePool):
    """`function(input, output_size, return_indices)`."""

    def __init__(self, output_size: int | Sequence[int], return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Tensor:
        """`input` pooled to the output size, and with `return_indices` where the maxima are."""
        return self.function(input, self.output_size, return_indices=self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maxima of the windows of `AdaptiveAvgPool1d`: (N, C, L) to (N, C, output_size), N optional.

    With `return_indices`, also where each maximum is, int64 of the output's shape. Raises
    NotImplementedError for complex numbers, RuntimeError for another number of dimensions. Source:
    PyTorch's `nn.AdaptiveMaxPool1d`.

    >>> rg.nn.AdaptiveMaxPool1d(2)(rg.tensor([[1.0, 5.0, 4.0, 2.0]]))
    tensor([[5., 4.]])
    """

    function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maxima of the windows of `AdaptiveAvgPool2d`: (N, C, H, W) to (N, C, *output_size).

    N is optional. Everything else is as for `AdaptiveMaxPool1d`.

    >>> x = rg.arange(16.0).reshape(1, 4, 4)
    >>> rg.nn.AdaptiveMaxPool2d((1, 2))(x)
    tensor([[[13., 15.]]])
    """

    function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maxima of the windows of `AdaptiveAvgPool3d`: (N, C, D, H, W) to (N, C, *output_size).

    N is optional. Everything else is as for `AdaptiveMaxPool1d`.

    >>> x = rg.arange(8.0).reshape(1, 2, 2, 2)
    >>> rg.nn.AdaptiveMaxPool3d((1, 1, None))(x)
    tensor([[[[6., 7.]]]])
    """

    function = staticmethod(F.adaptive_max_pool3d)
