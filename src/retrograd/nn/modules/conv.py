"""Convolutions and their transposes, in one to three dimensions.

One base class holds what they share; the classes of each dimension say only their number of spatial
dimensions and their function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...dtypes import dtype
from ...engine.placement import DeviceLike
from ...engine.tensor import Tensor
from .. import functional as F
from .. import init
from .module import Module
from .utils import empty_parameter, ntuple

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
]  # fmt: skip

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """The parameters and settings of a convolution, transposed or not; programs extend it, too.

    Sizes are tuples, one number for each dimension; `padding` may be "same" or "valid".
    """

    _only_zeros = False  # whether borders are of zeros in any case

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: Any,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        if self._only_zeros and padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if padding_mode not in PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {set(PADDING_MODES)}, but got "
                f"padding_mode='{padding_mode}'"
            )
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.dilation = kernel_size, stride, dilation
        self.padding, self.padding_mode = padding, padding_mode
        self.transposed, self.output_padding = transposed, output_padding
        self._check_padding()
        channels = (out_channels, in_channels // groups)
        if transposed:
            channels = (in_channels, out_channels // groups)
        self.weight = empty_parameter((*channels, *self.kernel_size), device, dtype)
        self.register_parameter(
            "bias", empty_parameter((out_channels,), device, dtype) if bias else None
        )
        self.reset_parameters()

    def _check_padding(self) -> None:
        if not isinstance(self.padding, str):
            return
        if self.padding not in ("same", "valid"):
            raise ValueError(
                f"Invalid padding string '{self.padding}', should be one of {{'valid', 'same'}}"
            )
        if self.padding == "same" and any(step != 1 for step in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, uniform on +-1/sqrt(fan_in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None and self.weight._array.size:
            init.symmetric_(self.bias, 1 / math.sqrt(init.fans(self.weight)[0]))

    @property
    def _reversed_padding_repeated_twice(self) -> list[int]:
        """The padding of `F.pad`: last dimension first, before and after."""
        sides: list[int] = []
        for axis in reversed(range(len(self.kernel_size))):
            if self.padding == "same":
                total = self.dilation[axis] * (self.kernel_size[axis] - 1)
                sides += [total // 2, total - total // 2]
            else:
                size = 0 if isinstance(self.padding, str) else self.padding[axis]
                sides += [size, size]
        return sides

    @property
    def _shown_settings(self) -> str:  # type: ignore[override]
        zeros, ones = "0," * len(self.kernel_size), "1," * len(self.kernel_size)
        return (
            f"in_channels out_channels kernel_size= stride= padding={zeros} dilation={ones} "
            f"output_padding={zeros} groups=1 bias=True padding_mode='zeros'"
        )


class _Convolution(_ConvNd):
    """A convolution: `function(input, weight, bias, stride, padding, dilation, groups)`."""

    n: int
    function: Callable[..., Tensor]

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
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        kernel, step, space = (ntuple(each, self.n) for each in (kernel_size, stride, dilation))
        borders = padding if isinstance(padding, str) else ntuple(padding, self.n)
        super().__init__(
            in_channels, out_channels, kernel, step, borders, space, False, (0,) * self.n, groups,
            bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        """The convolution of `input`, (N, C, *sizes) or (C, *sizes)."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The convolution by another weight and bias: programs' subclasses call or replace it."""
        padding = self.padding
        if self.padding_mode != "zeros":
            borders = self._reversed_padding_repeated_twice
            input, padding = F.pad(input, borders, mode=self.padding_mode), 0
        return self.function(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Convolution):
    """Convolution (cross-correlation) with kernels (C_out, C_in / groups, K) and a bias (C_out).

    (N, C_in, L) to (N, C_out, L'), N optional, where L' = floor((L + 2 padding - dilation (K - 1) -
    1) / stride) + 1. `padding` is a number, or "same" or "valid"; `padding_mode` one of zeros,
    reflect, replicate, circular. Any floating or complex dtype, that of the weight. Raises
    ValueError for settings that do not fit, RuntimeError for such an input. Source: PyTorch's
    `nn.Conv1d`.

    >>> rg.nn.Conv1d(4, 8, 3, padding=1)(rg.ones(2, 4, 10)).shape
    retrograd.Size([2, 8, 10])
    """

    n = 1
    function = staticmethod(F.conv1d)


class Conv2d(_Convolution):
    """Convolution of images: (N, C_in, H, W) to (N, C_out, H', W'), N optional.

    Settings are as for `Conv1d`, each a number or a pair, and so is everything else.

    >>> layer = rg.nn.Conv2d(3, 8, 3, stride=2, padding=1)
    >>> layer(rg.ones(2, 3, 8, 8)).shape, layer
    (retrograd.Size([2, 8, 4, 4]), Conv2d(3, 8, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1)))
    """

    n = 2
    function = staticmethod(F.conv2d)


class Conv3d(_Convolution):
    """Convolution of volumes: (N, C_in, D, H, W) to (N, C_out, D', H', W'), N optional.

    Settings are as for `Conv1d`, each a number or a triple, and so is everything else.

    >>> rg.nn.Conv3d(1, 2, 2)(rg.ones(1, 1, 3, 3, 3)).shape
    retrograd.Size([1, 2, 2, 2, 2])
    """

    n = 3
    function = staticmethod(F.conv3d)


class _ConvTransposeNd(_ConvNd):
    """The transpose of a convolution: what carries gradients back through one."""

    _only_zeros = True

    def _output_padding(
        self,
        input: Tensor,
        output_size: Any,
        stride: Any,
        padding: Any,
        kernel_size: Any,
        num_spatial_dims: int,
        dilation: Any = None,
    ) -> Any:
        """The output padding that gives the spatial sizes `output_size`; libraries call it."""
        if output_size is None:
            return self.output_padding
        shape, n, wanted = tuple(input.shape), num_spatial_dims, list(output_size)
        if len(wanted) == len(shape):
            wanted = wanted[-n:]
        if len(wanted) != n:
            raise ValueError(
                f"ConvTranspose{n}d: for {len(shape)}D input, output_size must have {n} or "
                f"{len(shape)} elements (got {len(wanted)})"
            )
        smallest = [
            (size - 1) * step - 2 * pad + space * (kernel - 1) + 1
            for size, step, pad, space, kernel in zip(
                shape[-n:], stride, padding, dilation or (1,) * n, kernel_size, strict=True
            )
        ]
        largest = [low + step - 1 for low, step in zip(smallest, stride, strict=True)]
        if any(
            not low <= size <= high
            for size, low, high in zip(wanted, smallest, largest, strict=True)
        ):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {smallest} to "
                f"{largest} (for an input of {list(shape[-n:])})"
            )
        return [size - low for size, low in zip(wanted, smallest, strict=True)]


class _Transposed(_ConvTransposeNd):
    """`function(input, weight, bias, stride, padding, output_padding, groups, dilation)`."""

    n: int
    function: Callable[..., Tensor]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        given = (kernel_size, stride, padding, dilation, output_padding)
        kernel, step, borders, space, extra = (ntuple(each, self.n) for each in given)
        super().__init__(
            in_channels, out_channels, kernel, step, borders, space, True, extra, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """The transposed convolution; `output_size` chooses among the sizes a stride allows."""
        extra = self._output_padding(
            input,
            output_size,
            self.stride,
            self.padding,
            self.kernel_size,
            self.n,
            self.dilation,
        )
        return self.function(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            extra,
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(_Transposed):
    """Transposed convolution with a weight (C_in, C_out / groups, K) and a bias (C_out).

    (N, C_in, L) to (N, C_out, L'), N optional, where L' = (L - 1) stride - 2 padding + dilation (K
    - 1) + output_padding + 1; a call may give L' as `output_size` instead. Any floating or complex
    dtype, that of the weight. Raises ValueError for settings and an `output_size` that do not fit,
    RuntimeError for such an input. Source: PyTorch's `nn.ConvTranspose1d`.

    >>> rg.nn.ConvTranspose1d(2, 3, 4, stride=2, padding=1)(rg.ones(1, 2, 5)).shape
    retrograd.Size([1, 3, 10])
    """

    n = 1
    function = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_Transposed):
    """Transposed convolution of images: (N, C_in, H, W) to (N, C_out, H', W'), N optional.

    Settings are as for `ConvTranspose1d`, each a number or a pair, and so is everything else.

    >>> up = rg.nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1)
    >>> up(rg.ones(1, 2, 4, 4), output_size=(8, 8)).shape
    retrograd.Size([1, 3, 8, 8])
    """

    n = 2
    function = staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_Transposed):
    """Transposed convolution of volumes: (N, C_in, D, H, W) to (N, C_out, D', H', W'), N optional.

    Settings are as for `ConvTranspose1d`, each a number or a triple, and so is everything else.

    >>> rg.nn.ConvTranspose3d(1, 1, 2)(rg.ones(1, 1, 2, 2, 2)).shape
    retrograd.Size([1, 1, 3, 3, 3])
    """

    n = 3
    function = staticmethod(F.conv_transpose3d)
