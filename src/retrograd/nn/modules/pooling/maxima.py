"""Maxima over sliding or drawn windows, and their inverses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....engine.tensor import Tensor
from ... import functional as F
from ..module import Module
from ..utils import ntuple

__all__ = [
    "FractionalMaxPool2d", "FractionalMaxPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d",
    "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip


class _MaxPoolNd(Module):
    """`function(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)`."""

    _shown_settings = "kernel_size= stride= padding= dilation= ceil_mode="
    function: Callable[..., Tensor]

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """The maximum of each window, and with `return_indices` its place."""
        return self.function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class MaxPool1d(_MaxPoolNd):
    """Maxima of windows, whose stride is the kernel size by default.

    (N, C, L) to (N, C, L'), N optional, where L' = floor((L + 2 padding - dilation (kernel_size -
    1) - 1) / stride) + 1, or rounded up with `ceil_mode`. Padding counts as minus infinity. With
    `return_indices`, also where each maximum is, int64 of the output's shape. The gradient goes to
    the first maximum of a window. Raises NotImplementedError for complex numbers, RuntimeError for
    other shapes and windows that do not fit. Source: PyTorch's `nn.MaxPool1d`.

    >>> rg.nn.MaxPool1d(2)(rg.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[3., 2.]])
    """

    function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """Maxima of windows of images: (N, C, H, W) to (N, C, H', W'), N optional.

    Settings are as for `MaxPool1d`, each a number or a pair, and so is everything else.

    >>> rg.nn.MaxPool2d(2)(rg.ones(1, 3, 8, 8)).shape
    retrograd.Size([1, 3, 4, 4])
    """

    function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """Maxima of windows of volumes: (N, C, D, H, W) to (N, C, D', H', W'), N optional.

    Settings are as for `MaxPool1d`, each a number or a triple, and so is everything else.

    >>> x = rg.arange(8.0).reshape(1, 2, 2, 2)
    >>> rg.nn.MaxPool3d(2)(x)
    tensor([[[[7.]]]])
    """

    function = staticmethod(F.max_pool3d)


class _MaxUnpoolNd(Module):
    """`function(input, indices, kernel_size, stride, padding, output_size)`."""

    _shown_settings = "kernel_size= stride= padding="
    n: int
    function: Callable[..., Tensor]

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
    ) -> None:
        super().__init__()
        self.kernel_size = ntuple(kernel_size, self.n)
        self.stride = ntuple(kernel_size if stride is None else stride, self.n)
        self.padding = ntuple(padding, self.n)

    def forward(
        self, input: Tensor, indices: Tensor, output_size: int | Sequence[int] | None = None
    ) -> Tensor:
        """The maxima back at their places, zeros elsewhere."""
        return self.function(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class MaxUnpool1d(_MaxUnpoolNd):
    """A partial inverse of `MaxPool1d`: maxima at their `indices`, zeros elsewhere.

    input and indices (N, C, L') to (N, C, L), N optional; `output_size` says which of the possible
    sizes L is meant. Raises RuntimeError for indices of another shape or beyond the output,
    ValueError for an impossible `output_size`. Source: PyTorch's `nn.MaxUnpool1d`.

    >>> y, at = rg.nn.MaxPool1d(2, return_indices=True)(rg.tensor([[1.0, 5.0, 4.0, 2.0]]))
    >>> rg.nn.MaxUnpool1d(2)(y, at)
    tensor([[0., 5., 4., 0.]])
    """

    n = 1
    function = staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpoolNd):
    """A partial inverse of `MaxPool2d`: (N, C, H', W') to (N, C, H, W), N optional.

    Everything else is as for `MaxUnpool1d`.

    >>> y, at = rg.nn.MaxPool2d(2, return_indices=True)(rg.tensor([[[1.0, 5.0], [4.0, 2.0]]]))
    >>> rg.nn.MaxUnpool2d(2)(y, at)
    tensor([[[0., 5.],
             [0., 0.]]])
    """

    n = 2
    function = staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpoolNd):
    """A partial inverse of `MaxPool3d`: (N, C, D', H', W') to (N, C, D, H, W), N optional.

    Everything else is as for `MaxUnpool1d`.

    >>> y, at = rg.nn.MaxPool3d(2, return_indices=True)(rg.arange(8.0).reshape(1, 2, 2, 2))
    >>> rg.nn.MaxUnpool3d(2)(y, at)
    tensor([[[[0., 0.],
              [0., 0.]],
    <BLANKLINE>
             [[0., 0.],
              [0., 7.]]]])
    """

    n = 3
    function = staticmethod(F.max_unpool3d)


class _FractionalMaxPool(Module):
    """The settings, and what the constructor refuses."""

    n: int
    function: Callable[..., Tensor]

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        output_size: int | Sequence[int] | None = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        self.kernel_size, self.return_indices = ntuple(kernel_size, self.n), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else ntuple(output_size, self.n)
        self.output_ratio = None if output_ratio is None else ntuple(output_ratio, self.n)
        if output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio or ()):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Tensor:
        """The maxima, and with `return_indices` where they were."""
        return self.function(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            self._random_samples,
        )  # fmt: skip


class FractionalMaxPool2d(_FractionalMaxPool):
    """Maxima over randomly placed windows: (N, C, H, W) to (N, C, H', W'), N optional.

    (H', W') is `output_size`, or `output_ratio` times (H, W); with `return_indices`, also where
    each maximum is. Floating; raises NotImplementedError for other dtypes, RuntimeError for another
    number of dimensions, and ValueError unless one of size and ratio, the latter within 0 and 1, is
    given. Source: PyTorch's `nn.FractionalMaxPool2d`; Graham, 2014.

    >>> rg.nn.FractionalMaxPool2d(2, output_ratio=0.5)(rg.ones(1, 3, 8, 8)).shape
    retrograd.Size([1, 3, 4, 4])
    """

    n = 2
    function = staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """Maxima over randomly placed windows: (N, C, D, H, W) to (N, C, D', H', W'), N optional.

    Everything else is as for `FractionalMaxPool2d`.

    >>> rg.nn.FractionalMaxPool3d(2, output_size=(2, 3, 3))(rg.ones(1, 1, 5, 5, 5)).shape
    retrograd.Size([1, 1, 2, 3, 3])
    """

    n = 3
    function = staticmethod(F.fractional_max_pool3d)
