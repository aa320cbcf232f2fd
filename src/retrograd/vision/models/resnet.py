"""Residual networks: K. He et al., "Deep residual learning for image recognition" (2015).

Wider and grouped forms: S. Zagoruyko and N. Komodakis (2016), S. Xie et al. (2016). As in
torchvision, it is the 3x3 convolution of a bottleneck that has the stride.
"""

from __future__ import annotations

from typing import Any

from ... import nn
from ...engine.tensor import Tensor
from ...ops import flatten
from .weights import WeightsEnum, builder, imagenet

__all__ = [
    "BasicBlock",
    "Bottleneck",
    "ResNeXt50_32X4D_Weights",
    "ResNeXt101_32X8D_Weights",
    "ResNeXt101_64X4D_Weights",
    "ResNet",
    "ResNet18_Weights",
    "ResNet34_Weights",
    "ResNet50_Weights",
    "ResNet101_Weights",
    "ResNet152_Weights",
    "Wide_ResNet50_2_Weights",
    "Wide_ResNet101_2_Weights",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
    "resnext50_32x4d",
    "resnext101_32x8d",
    "resnext101_64x4d",
    "wide_resnet50_2",
    "wide_resnet101_2",
]


def conv3x3(before: int, after: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> Any:
    """A convolution that keeps the size, but for the stride."""
    return nn.Conv2d(before, after, 3, stride, dilation, dilation, groups, bias=False)


def conv1x1(before: int, after: int, stride: int = 1) -> Any:
    """A linear map of the channels."""
    return nn.Conv2d(before, after, 1, stride, bias=False)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions beside a shortcut, from (N, inplanes, H, W) to (N, planes, H', W').

    Raises ValueError for `groups`, `base_width` and `dilation` other than 1, 64 and 1.
    """

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: Any = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Any = None,
    ) -> None:
        super().__init__()
        if (groups, base_width, dilation) != (1, 64, 1):
            raise ValueError(
                f"BasicBlock only supports groups=1, base_width=64 and dilation=1, got {groups}, "
                f"{base_width} and {dilation}. Use Bottleneck"
            )
        norm_layer = norm_layer or nn.BatchNorm2d
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        """The shortcut and what the convolutions add to it."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """A 3x3 convolution of few channels between two 1x1, beside a shortcut.

    From (N, inplanes, H, W) to (N, 4 planes, H', W').
    """

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: Any = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Any = None,
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        width = planes * base_width // 64 * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm_layer(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm_layer(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        """The shortcut and what the convolutions add to it."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    """Four stages of `layers` blocks, from pictures (N, 3, H, W) to (N, num_classes).

    With `zero_init_residual` blocks begin as their shortcuts. `replace_stride_with_dilation` says
    of the last three stages which dilate rather than halve the size; Bottleneck alone can.
    `norm_layer` makes a normalization of so many channels, by default BatchNorm2d.

    >>> from retrograd.vision.models.resnet import BasicBlock, ResNet
    >>> model = ResNet(BasicBlock, [1, 1, 1, 1], num_classes=10)
    >>> model(rg.ones(2, 3, 32, 32)).shape
    retrograd.Size([2, 10])
    """

    def __init__(
        self,
        block: Any,
        layers: list[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: Any = None,
        norm_layer: Any = None,
    ) -> None:
        super().__init__()
        dilated = replace_stride_with_dilation or (False, False, False)
        if len(dilated) != 3:
            raise ValueError(
                "replace_stride_with_dilation should be None or a 3-element tuple, one bool for "
                f"each of the last three stages, got {dilated}"
            )
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes, self.dilation = 64, 1
        self.groups, self.base_width = groups, width_per_group
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = self._norm_layer(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], 2, dilated[0])
        self.layer3 = self._make_layer(block, 256, layers[2], 2, dilated[1])
        self.layer4 = self._make_layer(block, 512, layers[3], 2, dilated[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._reset(zero_init_residual)

    def _make_layer(
        self, block: Any, planes: int, blocks: int, stride: int = 1, dilate: bool = False
    ) -> Any:
        """A stage: the first block has the stride, and a shortcut that fits it."""
        first, after, downsample = self.dilation, planes * block.expansion, None
        if dilate:
            self.dilation, stride = self.dilation * stride, 1
        if stride != 1 or self.inplanes != after:
            downsample = nn.Sequential(
                conv1x1(self.inplanes, after, stride), self._norm_layer(after)
            )
        width = (self.groups, self.base_width)
        made = [block(self.inplanes, planes, stride, downsample, *width, first, self._norm_layer)]
        self.inplanes = after
        for _ in range(1, blocks):
            made.append(block(after, planes, 1, None, *width, self.dilation, self._norm_layer))
        return nn.Sequential(*made)

    def _reset(self, zero_init_residual: bool) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
        for module in self.modules() if zero_init_residual else ():
            if isinstance(module, Bottleneck):
                nn.init.zeros_(module.bn3.weight)
            elif isinstance(module, BasicBlock):
                nn.init.zeros_(module.bn2.weight)

    def forward(self, x: Tensor) -> Tensor:
        """The score of every class."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(flatten(self.avgpool(x), 1))


class ResNet18_Weights(WeightsEnum):
    """Files of `resnet18`."""

    IMAGENET1K_V1 = imagenet("resnet18-f37072fd.pth")
    DEFAULT = IMAGENET1K_V1


class ResNet34_Weights(WeightsEnum):
    """Files of `resnet34`."""

    IMAGENET1K_V1 = imagenet("resnet34-b627a593.pth")
    DEFAULT = IMAGENET1K_V1


class ResNet50_Weights(WeightsEnum):
    """Files of `resnet50`."""

    IMAGENET1K_V1 = imagenet("resnet50-0676ba61.pth")
    IMAGENET1K_V2 = imagenet("resnet50-11ad3fa6.pth", 232)
    DEFAULT = IMAGENET1K_V2


class ResNet101_Weights(WeightsEnum):
    """Files of `resnet101`."""

    IMAGENET1K_V1 = imagenet("resnet101-63fe2227.pth")
    IMAGENET1K_V2 = imagenet("resnet101-cd907fc2.pth", 232)
    DEFAULT = IMAGENET1K_V2


class ResNet152_Weights(WeightsEnum):
    """Files of `resnet152`."""

    IMAGENET1K_V1 = imagenet("resnet152-394f9c45.pth")
    IMAGENET1K_V2 = imagenet("resnet152-f82ba261.pth", 232)
    DEFAULT = IMAGENET1K_V2


class ResNeXt50_32X4D_Weights(WeightsEnum):
    """Files of `resnext50_32x4d`."""

    IMAGENET1K_V1 = imagenet("resnext50_32x4d-7cdf4587.pth")
    IMAGENET1K_V2 = imagenet("resnext50_32x4d-1a0047aa.pth", 232)
    DEFAULT = IMAGENET1K_V2


class ResNeXt101_32X8D_Weights(WeightsEnum):
    """Files of `resnext101_32x8d`."""

    IMAGENET1K_V1 = imagenet("resnext101_32x8d-8ba56ff5.pth")
    IMAGENET1K_V2 = imagenet("resnext101_32x8d-110c445d.pth", 232)
    DEFAULT = IMAGENET1K_V2


class ResNeXt101_64X4D_Weights(WeightsEnum):
    """Files of `resnext101_64x4d`."""

    IMAGENET1K_V1 = imagenet("resnext101_64x4d-173b62eb.pth", 232)
    DEFAULT = IMAGENET1K_V1


class Wide_ResNet50_2_Weights(WeightsEnum):
    """Files of `wide_resnet50_2`."""

    IMAGENET1K_V1 = imagenet("wide_resnet50_2-95faca4d.pth")
    IMAGENET1K_V2 = imagenet("wide_resnet50_2-9ba9bcbe.pth", 232)
    DEFAULT = IMAGENET1K_V2


class Wide_ResNet101_2_Weights(WeightsEnum):
    """Files of `wide_resnet101_2`."""

    IMAGENET1K_V1 = imagenet("wide_resnet101_2-32ee1156.pth")
    IMAGENET1K_V2 = imagenet("wide_resnet101_2-d733dc28.pth", 232)
    DEFAULT = IMAGENET1K_V2


@builder(ResNet18_Weights)
def resnet18(**settings: Any) -> Any:
    """ResNet of 18 layers, 11.7 million parameters.

    >>> model = rg.vision.models.resnet18(num_classes=10)
    >>> sum(p.numel() for p in model.parameters()), model.fc
    (11181642, Linear(in_features=512, out_features=10, bias=True))
    """
    return ResNet(BasicBlock, [2, 2, 2, 2], **settings)


@builder(ResNet34_Weights)
def resnet34(**settings: Any) -> Any:
    """ResNet of 34 layers, 21.8 million parameters.

    >>> len(rg.vision.models.resnet34(num_classes=10).layer3)
    6
    """
    return ResNet(BasicBlock, [3, 4, 6, 3], **settings)


@builder(ResNet50_Weights)
def resnet50(**settings: Any) -> Any:
    """ResNet of 50 layers, 25.6 million parameters.

    >>> len(rg.vision.models.resnet50(num_classes=10).layer3)
    6
    """
    return ResNet(Bottleneck, [3, 4, 6, 3], **settings)


@builder(ResNet101_Weights)
def resnet101(**settings: Any) -> Any:
    """ResNet of 101 layers, 44.5 million parameters.

    >>> len(rg.vision.models.resnet101(num_classes=10).layer3)
    23
    """
    return ResNet(Bottleneck, [3, 4, 23, 3], **settings)


@builder(ResNet152_Weights)
def resnet152(**settings: Any) -> Any:
    """ResNet of 152 layers, 60.2 million parameters.

    >>> len(rg.vision.models.resnet152(num_classes=10).layer3)
    36
    """
    return ResNet(Bottleneck, [3, 8, 36, 3], **settings)


@builder(ResNeXt50_32X4D_Weights)
def resnext50_32x4d(**settings: Any) -> Any:
    """ResNeXt of 50 layers, in 32 groups of 4 channels: 25.0 million parameters.

    >>> rg.vision.models.resnext50_32x4d(num_classes=10).layer1[0].conv2.groups
    32
    """
    return ResNet(Bottleneck, [3, 4, 6, 3], **{"groups": 32, "width_per_group": 4, **settings})


@builder(ResNeXt101_32X8D_Weights)
def resnext101_32x8d(**settings: Any) -> Any:
    """ResNeXt of 101 layers, in 32 groups of 8 channels: 88.8 million parameters."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **{"groups": 32, "width_per_group": 8, **settings})


@builder(ResNeXt101_64X4D_Weights)
def resnext101_64x4d(**settings: Any) -> Any:
    """ResNeXt of 101 layers, in 64 groups of 4 channels: 83.5 million parameters."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **{"groups": 64, "width_per_group": 4, **settings})


@builder(Wide_ResNet50_2_Weights)
def wide_resnet50_2(**settings: Any) -> Any:
    """ResNet of 50 layers, twice as wide inside its blocks: 68.9 million parameters.

    >>> rg.vision.models.wide_resnet50_2(num_classes=10).layer1[0].conv2.weight.shape
    retrograd.Size([128, 128, 3, 3])
    """
    return ResNet(Bottleneck, [3, 4, 6, 3], **{"width_per_group": 128, **settings})


@builder(Wide_ResNet101_2_Weights)
def wide_resnet101_2(**settings: Any) -> Any:
    """ResNet of 101 layers, twice as wide inside its blocks: 126.9 million parameters."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **{"width_per_group": 128, **settings})
