"""Small networks of inverted residuals: M. Sandler et al., "MobileNetV2" (2018)."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...engine.tensor import Tensor
from ...ops import flatten
from .weights import WeightsEnum, builder, imagenet

__all__ = [
    "InvertedResidual",
    "MobileNetV2",
    "MobileNet_V2_Weights",
    "mobilenet_v2",
]

# The paper's table 2: expansion, channels, blocks, stride of the first.
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def divisible(channels: float, divisor: int) -> int:
    """The nearest positive multiple of `divisor` that is at least nine tenths of `channels`."""
    near = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return near + divisor if near < 0.9 * channels else near


def convolution(
    before: int, after: int, size: int, stride: int, groups: int, norm_layer: Any
) -> Any:
    """Convolution, normalization and ReLU6."""
    return nn.Sequential(
        nn.Conv2d(before, after, size, stride, size // 2, groups=groups, bias=False),
        norm_layer(after),
        nn.ReLU6(inplace=True),
    )


class InvertedResidual(nn.Module):
    """A 3x3 convolution of every channel between two 1x1, which widen and narrow.

    From (N, inp, H, W) to (N, oup, H', W'), added to the input where the shapes are equal. Raises
    ValueError for a stride other than 1 and 2.
    """

    def __init__(
        self, inp: int, oup: int, stride: int, expand_ratio: int, norm_layer: Any = None
    ) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        norm_layer = norm_layer or nn.BatchNorm2d
        self.stride = stride
        self.use_res_connect = stride == 1 and inp == oup
        wide = round(inp * expand_ratio)
        widen = [convolution(inp, wide, 1, 1, 1, norm_layer)] if expand_ratio != 1 else []
        self.conv = nn.Sequential(
            *widen,
            convolution(wide, wide, 3, stride, wide, norm_layer),
            nn.Conv2d(wide, oup, 1, bias=False),
            norm_layer(oup),
        )

    def forward(self, x: Tensor) -> Tensor:
        """The result, and the input where it fits."""
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """Inverted residuals, from pictures (N, 3, H, W) to (N, num_classes).

    `width_mult` scales all channels, to multiples of `round_nearest`; `inverted_residual_setting`
    has (expansion, channels, blocks, stride) for every stage.

    >>> stages = [(1, 8, 1, 1), (6, 16, 1, 2)]
    >>> model = rg.vision.models.MobileNetV2(10, inverted_residual_setting=stages)
    >>> model(rg.ones(2, 3, 16, 16)).shape
    retrograd.Size([2, 10])
    """

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        inverted_residual_setting: Any = None,
        round_nearest: int = 8,
        block: Any = None,
        norm_layer: Any = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        block, norm_layer = block or InvertedResidual, norm_layer or nn.BatchNorm2d
        before = divisible(32 * width_mult, round_nearest)
        self.last_channel = divisible(1280 * max(1.0, width_mult), round_nearest)
        features = [convolution(3, before, 3, 2, 1, norm_layer)]
        for expansion, channels, blocks, stride in inverted_residual_setting or STAGES:
            after = divisible(channels * width_mult, round_nearest)
            for n in range(blocks):
                features.append(block(before, after, 1 if n else stride, expansion, norm_layer))
                before = after
        features.append(convolution(before, self.last_channel, 1, 1, 1, norm_layer))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(self.last_channel, num_classes)
        )
        self._reset()

    def _reset(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        """The score of every class."""
        x = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(flatten(x, 1))


class MobileNet_V2_Weights(WeightsEnum):
    """Files of `mobilenet_v2`."""

    IMAGENET1K_V1 = imagenet("mobilenet_v2-b0353104.pth")
    IMAGENET1K_V2 = imagenet("mobilenet_v2-7ebf99e0.pth", 232)
    DEFAULT = IMAGENET1K_V2


@builder(MobileNet_V2_Weights)
def mobilenet_v2(**settings: Any) -> Any:
    """MobileNetV2, 3.5 million parameters.

    >>> rg.vision.models.mobilenet_v2(num_classes=10).classifier[1]
    Linear(in_features=1280, out_features=10, bias=True)
    """
    return MobileNetV2(**settings)
