"""Residual networks: K. He et al., "Deep residual learning for image recognition" (2015).

The names of parameters are torchvision's, and as there it is the 3x3 convolution of a bottleneck
that has the stride.

NOTE [Pretrained weights]
1. `weights` is the path of a checkpoint, in any format that `load` reads, or "DEFAULT".
2. "DEFAULT" and `pretrained=True` stand for the file that torchvision downloads, in the folder
   where PyTorch keeps such files: `$TORCH_HOME/hub/checkpoints`, by default in `~/.cache/torch`.
   Nothing is downloaded: put the file there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .... import nn
from ....engine.tensor import Tensor
from ....ops import flatten
from ....ops.core.arguments import titled
from ....serialization import load
from ...hub import get_dir

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "BasicBlock", "Bottleneck", "ResNet", "resnet18", "resnet34", "resnet50", "resnet101",
    "resnet152",
]  # fmt: skip

SERVER = "https://download.pytorch.org/models/"


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


def loaded(model: ResNet, name: str, file: str, weights: Any) -> ResNet:
    """A network with the weights of a checkpoint: NOTE [Pretrained weights]."""
    if weights is True or weights == "DEFAULT":
        weights = Path(get_dir()) / "checkpoints" / file
    if not Path(weights).exists():
        raise FileNotFoundError(
            f"{name}: there is no file '{weights}', and no weights are downloaded. Put "
            f"{SERVER}{file} there, or write weights='path/of/a/checkpoint.pth'"
        )
    model.load_state_dict(load(weights, map_location="cpu", weights_only=True))
    return model


def resnet(
    depth: int, block: Any, layers: list[int], millions: float, file: str
) -> Callable[..., ResNet]:
    """The function that makes the network of so many layers."""
    name = f"resnet{depth}"

    def make(pretrained: bool = False, *, weights: Any = None, **settings: Any) -> ResNet:
        model = ResNet(block, layers, **settings)
        return loaded(model, name, file, weights or pretrained) if weights or pretrained else model

    doc = f"""ResNet of {depth} layers, {millions} million parameters; `settings` are `ResNet`'s.

    >>> model = rg.vision.models.{name}(num_classes=10)
    >>> len(model.layer3), model.fc.out_features
    ({layers[2]}, 10)
    """
    return titled(make, name, doc)


resnet18 = resnet(18, BasicBlock, [2, 2, 2, 2], 11.7, "resnet18-f37072fd.pth")
resnet34 = resnet(34, BasicBlock, [3, 4, 6, 3], 21.8, "resnet34-b627a593.pth")
resnet50 = resnet(50, Bottleneck, [3, 4, 6, 3], 25.6, "resnet50-11ad3fa6.pth")
resnet101 = resnet(101, Bottleneck, [3, 4, 23, 3], 44.5, "resnet101-cd907fc2.pth")
resnet152 = resnet(152, Bottleneck, [3, 8, 36, 3], 60.2, "resnet152-f82ba261.pth")
