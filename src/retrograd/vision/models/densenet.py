"""Networks of dense blocks: G. Huang et al., "Densely connected convolutional networks" (2016)."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Any

from ... import nn
from ...engine.tensor import Tensor
from ...ops import flatten
from ...ops.shape.join import cat
from ...utils.checkpoint import checkpoint
from .weights import WeightsEnum, builder, imagenet

__all__ = [
    "DenseNet",
    "DenseNet121_Weights",
    "DenseNet161_Weights",
    "DenseNet169_Weights",
    "DenseNet201_Weights",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
]

OLD_NAME = re.compile(r"(denselayer\d+\.(?:norm|conv))\.([12])\.")


class _DenseLayer(nn.Module):
    """`growth_rate` new channels of all that there are: a list of tensors, or one."""

    def __init__(
        self,
        num_input_features: int,
        growth_rate: int,
        bn_size: int,
        drop_rate: float,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        narrow = bn_size * growth_rate
        self.norm1 = nn.BatchNorm2d(num_input_features)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(num_input_features, narrow, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(narrow)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(narrow, growth_rate, 3, padding=1, bias=False)
        self.drop_rate = float(drop_rate)
        self.memory_efficient = memory_efficient

    def bn_function(self, *inputs: Tensor) -> Tensor:
        """The channels so far, joined and narrowed."""
        return self.conv1(self.relu1(self.norm1(cat([*inputs], 1))))

    def forward(self, input: Any) -> Tensor:
        """The new channels; `memory_efficient` computes their joined inputs again for backward."""
        inputs = input if isinstance(input, (list, tuple)) else [input]
        if self.memory_efficient and any(each.requires_grad for each in inputs):
            narrow = checkpoint(self.bn_function, *inputs, use_reentrant=False)
        else:
            narrow = self.bn_function(*inputs)
        new = self.conv2(self.relu2(self.norm2(narrow)))
        if self.drop_rate > 0:
            new = nn.functional.dropout(new, self.drop_rate, self.training)
        return new


class _DenseBlock(nn.ModuleDict):
    """Layers each of which sees the channels of all before it."""

    def __init__(
        self,
        num_layers: int,
        num_input_features: int,
        bn_size: int,
        growth_rate: int,
        drop_rate: float,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        for n in range(num_layers):
            self[f"denselayer{n + 1}"] = _DenseLayer(
                num_input_features + n * growth_rate,
                growth_rate,
                bn_size,
                drop_rate,
                memory_efficient,
            )

    def forward(self, input: Tensor) -> Tensor:
        """The input's channels and those of every layer."""
        found = [input]
        for layer in self.values():
            found.append(layer(found))
        return cat(found, 1)


class _Transition(nn.Sequential):
    """Fewer channels, and half the size."""

    def __init__(self, num_input_features: int, num_output_features: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(num_input_features)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(num_input_features, num_output_features, 1, bias=False)
        self.pool = nn.AvgPool2d(2, 2)


class DenseNet(nn.Module):
    """Dense blocks with transitions between them, from pictures (N, 3, H, W) to (N, num_classes).

    A layer adds `growth_rate` channels, by way of `bn_size` times as many, and drops them with
    probability `drop_rate`. With `memory_efficient` joined channels are not kept for backward.

    >>> model = rg.vision.models.DenseNet(8, (2, 2), 16, num_classes=10)
    >>> model(rg.ones(2, 3, 32, 32)).shape
    retrograd.Size([2, 10])
    """

    def __init__(
        self,
        growth_rate: int = 32,
        block_config: tuple[int, ...] = (6, 12, 24, 16),
        num_init_features: int = 64,
        bn_size: int = 4,
        drop_rate: float = 0,
        num_classes: int = 1000,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        width = num_init_features
        layers: list[tuple[str, Any]] = [
            ("conv0", nn.Conv2d(3, width, 7, 2, 3, bias=False)),
            ("norm0", nn.BatchNorm2d(width)),
            ("relu0", nn.ReLU(inplace=True)),
            ("pool0", nn.MaxPool2d(3, 2, 1)),
        ]
        for n, depth in enumerate(block_config, 1):
            block = _DenseBlock(depth, width, bn_size, growth_rate, drop_rate, memory_efficient)
            layers.append((f"denseblock{n}", block))
            width += depth * growth_rate
            if n < len(block_config):
                layers.append((f"transition{n}", _Transition(width, width // 2)))
                width //= 2
        layers.append((f"norm{len(block_config) + 1}", nn.BatchNorm2d(width)))
        self.features = nn.Sequential(OrderedDict(layers))
        self.classifier = nn.Linear(width, num_classes)
        self._reset()

    def _reset(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        """The score of every class."""
        x = nn.functional.relu(self.features(x), inplace=True)
        x = nn.functional.adaptive_avg_pool2d(x, (1, 1))
        return self.classifier(flatten(x, 1))


def new_name(name: str) -> str:
    """The name of a parameter by that in files of before 2018: `norm.1` was `norm1`."""
    return OLD_NAME.sub(r"\1\2.", name)


class DenseNet121_Weights(WeightsEnum):
    """Files of `densenet121`."""

    IMAGENET1K_V1 = imagenet("densenet121-a639ec97.pth")
    DEFAULT = IMAGENET1K_V1


class DenseNet161_Weights(WeightsEnum):
    """Files of `densenet161`."""

    IMAGENET1K_V1 = imagenet("densenet161-8d451a50.pth")
    DEFAULT = IMAGENET1K_V1


class DenseNet169_Weights(WeightsEnum):
    """Files of `densenet169`."""

    IMAGENET1K_V1 = imagenet("densenet169-b2777c0a.pth")
    DEFAULT = IMAGENET1K_V1


class DenseNet201_Weights(WeightsEnum):
    """Files of `densenet201`."""

    IMAGENET1K_V1 = imagenet("densenet201-c1103571.pth")
    DEFAULT = IMAGENET1K_V1


@builder(DenseNet121_Weights, new_name)
def densenet121(**settings: Any) -> Any:
    """DenseNet of 121 layers, 8.0 million parameters.

    >>> rg.vision.models.densenet121(num_classes=10).classifier.in_features
    1024
    """
    return DenseNet(32, (6, 12, 24, 16), 64, **settings)


@builder(DenseNet161_Weights, new_name)
def densenet161(**settings: Any) -> Any:
    """DenseNet of 161 layers, 28.7 million parameters.

    >>> rg.vision.models.densenet161(num_classes=10).classifier.in_features
    2208
    """
    return DenseNet(48, (6, 12, 36, 24), 96, **settings)


@builder(DenseNet169_Weights, new_name)
def densenet169(**settings: Any) -> Any:
    """DenseNet of 169 layers, 14.1 million parameters.

    >>> rg.vision.models.densenet169(num_classes=10).classifier.in_features
    1664
    """
    return DenseNet(32, (6, 12, 32, 32), 64, **settings)


@builder(DenseNet201_Weights, new_name)
def densenet201(**settings: Any) -> Any:
    """DenseNet of 201 layers, 20.0 million parameters.

    >>> rg.vision.models.densenet201(num_classes=10).classifier.in_features
    1920
    """
    return DenseNet(32, (6, 12, 48, 32), 64, **settings)
