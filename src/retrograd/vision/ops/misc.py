"""Parts that models of pictures share: convolutions with what follows them, frozen norms, MLPs."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ... import nn
from ...ops.creation.factories import ones, zeros

if TYPE_CHECKING:
    from ...engine.tensor import Tensor

__all__ = [
    "MLP",
    "Conv2dNormActivation",
    "Conv3dNormActivation",
    "ConvNormActivation",
    "FrozenBatchNorm2d",
    "Permute",
    "SqueezeExcitation",
]

ABSTRACT = (
    "ConvNormActivation does not say of how many dimensions it is. Write Conv2dNormActivation or "
    "Conv3dNormActivation"
)


class FrozenBatchNorm2d(nn.Module):
    """BatchNorm2d of (N, C, H, W) whose statistics, weight and bias are constants: buffers.

    >>> norm = rg.vision.ops.FrozenBatchNorm2d(3)
    >>> norm, len(list(norm.parameters()))
    (FrozenBatchNorm2d(3, eps=1e-05), 0)
    """

    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        for name, make in (("weight", ones), ("bias", zeros)):
            self.register_buffer(name, make(num_features))
        for name, make in (("running_mean", zeros), ("running_var", ones)):
            self.register_buffer(name, make(num_features))

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        state_dict.pop(f"{prefix}num_batches_tracked", None)  # which BatchNorm2d saves
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def forward(self, x: Tensor) -> Tensor:
        """The normalized pictures."""
        scale = self.weight * (self.running_var + self.eps).rsqrt()
        shift = self.bias - self.running_mean * scale
        return x * scale.reshape(1, -1, 1, 1) + shift.reshape(1, -1, 1, 1)

    def extra_repr(self) -> str:
        """The settings."""
        return f"{self.weight.shape[0]}, eps={self.eps}"


def around(kernel_size: Any, dilation: Any) -> Any:
    """The padding that keeps sizes, where kernels are odd and the stride is 1."""
    if isinstance(kernel_size, int) and isinstance(dilation, int):
        return (kernel_size - 1) // 2 * dilation
    ndim = len(kernel_size if not isinstance(kernel_size, int) else dilation)
    sizes, gaps = ([x] * ndim if isinstance(x, int) else x for x in (kernel_size, dilation))
    return tuple((size - 1) // 2 * gap for size, gap in zip(sizes, gaps, strict=True))


class ConvNormActivation(nn.Sequential):
    """A convolution, a normalization and an activation: what the next two classes share."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any = 3,
        stride: Any = 1,
        padding: Any = None,
        groups: int = 1,
        norm_layer: Any = nn.BatchNorm2d,
        activation_layer: Any = nn.ReLU,
        dilation: Any = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
        conv_layer: Any = nn.Conv2d,
    ) -> None:
        if type(self) is ConvNormActivation:
            warnings.warn(ABSTRACT, stacklevel=2)
        padding = around(kernel_size, dilation) if padding is None else padding
        bias = norm_layer is None if bias is None else bias
        layers = [
            conv_layer(
                in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
            )
        ]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer(**({} if inplace is None else {"inplace": inplace})))
        super().__init__(*layers)
        self.out_channels = out_channels


class Conv2dNormActivation(ConvNormActivation):
    """Convolution, normalization and activation of pictures (N, C, H, W).

    `padding` keeps sizes by default; the convolution has a bias where nothing normalizes. Without
    `norm_layer` or `activation_layer`, None, there is none; `inplace=None` is not handed on.

    >>> layers = rg.vision.ops.Conv2dNormActivation(3, 8, stride=2)
    >>> [type(layer).__name__ for layer in layers], layers(rg.ones(1, 3, 8, 8)).shape
    (['Conv2d', 'BatchNorm2d', 'ReLU'], retrograd.Size([1, 8, 4, 4]))
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any = 3,
        stride: Any = 1,
        padding: Any = None,
        groups: int = 1,
        norm_layer: Any = nn.BatchNorm2d,
        activation_layer: Any = nn.ReLU,
        dilation: Any = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        sizes = (in_channels, out_channels, kernel_size, stride, padding, groups)
        super().__init__(*sizes, norm_layer, activation_layer, dilation, inplace, bias, nn.Conv2d)


class Conv3dNormActivation(ConvNormActivation):
    """The same of volumes (N, C, D, H, W).

    >>> rg.vision.ops.Conv3dNormActivation(3, 8)(rg.ones(1, 3, 4, 4, 4)).shape
    retrograd.Size([1, 8, 4, 4, 4])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any = 3,
        stride: Any = 1,
        padding: Any = None,
        groups: int = 1,
        norm_layer: Any = nn.BatchNorm3d,
        activation_layer: Any = nn.ReLU,
        dilation: Any = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        sizes = (in_channels, out_channels, kernel_size, stride, padding, groups)
        super().__init__(*sizes, norm_layer, activation_layer, dilation, inplace, bias, nn.Conv3d)


class SqueezeExcitation(nn.Module):
    """Channels of (N, C, H, W), each times a factor that is computed from the means of all.

    Source: J. Hu et al., "Squeeze-and-excitation networks" (2017).

    >>> rg.vision.ops.SqueezeExcitation(8, 2)(rg.ones(1, 8, 4, 4)).shape
    retrograd.Size([1, 8, 4, 4])
    """

    def __init__(
        self,
        input_channels: int,
        squeeze_channels: int,
        activation: Any = nn.ReLU,
        scale_activation: Any = nn.Sigmoid,
    ) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation, self.scale_activation = activation(), scale_activation()

    def forward(self, input: Tensor) -> Tensor:
        """The channels, scaled."""
        factor = self.fc2(self.activation(self.fc1(self.avgpool(input))))
        return self.scale_activation(factor) * input


class MLP(nn.Sequential):
    """Linear layers to each of `hidden_channels`, with activations between them and dropout.

    >>> rg.vision.ops.MLP(4, [8, 2])(rg.ones(3, 4)).shape
    retrograd.Size([3, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: list[int],
        norm_layer: Any = None,
        activation_layer: Any = nn.ReLU,
        inplace: bool | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        options = {} if inplace is None else {"inplace": inplace}
        *widths, last = hidden_channels
        layers: list[Any] = []
        for width in widths:
            layers.append(nn.Linear(in_channels, width, bias=bias))
            layers += [norm_layer(width)] if norm_layer is not None else []
            layers += [activation_layer(**options), nn.Dropout(dropout, **options)]
            in_channels = width
        layers += [nn.Linear(in_channels, last, bias=bias), nn.Dropout(dropout, **options)]
        super().__init__(*layers)


class Permute(nn.Module):
    """The input with its dimensions in another order.

    >>> rg.vision.ops.Permute([1, 0])(rg.ones(2, 3)).shape
    retrograd.Size([3, 2])
    """

    def __init__(self, dims: list[int]) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, x: Tensor) -> Tensor:
        """The view."""
        return x.permute(self.dims)
