"""Plain deep networks: K. Simonyan and A. Zisserman, "Very deep convolutional networks" (2014)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import nn
from ...engine.tensor import Tensor
from ...ops import flatten
from .weights import WeightsEnum, builder, imagenet

if TYPE_CHECKING:
    from collections.abc import Iterable


__all__ = [
    "VGG",
    "VGG11_BN_Weights",
    "VGG11_Weights",
    "VGG13_BN_Weights",
    "VGG13_Weights",
    "VGG16_BN_Weights",
    "VGG16_Weights",
    "VGG19_BN_Weights",
    "VGG19_Weights",
    "make_layers",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]

# How many 3x3 convolutions stand before each of the five poolings, by the number of layers.
DEPTHS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}


class VGG(nn.Module):
    """Convolutions `features` to 512 channels, then three linear layers to (N, num_classes).

    >>> from retrograd.vision.models.vgg import make_layers
    >>> features = make_layers([64, "M"], batch_norm=True)
    >>> features(rg.ones(1, 3, 8, 8)).shape
    retrograd.Size([1, 64, 4, 4])
    """

    def __init__(
        self,
        features: Any,
        num_classes: int = 1000,
        init_weights: bool = True,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(True),
            nn.Dropout(dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(True),
            nn.Dropout(dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            self._reset()

    def _reset(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        """The score of every class."""
        return self.classifier(flatten(self.avgpool(self.features(x)), 1))


def make_layers(cfg: Iterable[Any], batch_norm: bool = False) -> Any:
    """Convolutions of so many channels, and a pooling for every "M".

    >>> from retrograd.vision.models.vgg import make_layers
    >>> [type(layer).__name__ for layer in make_layers([8, "M"])]
    ['Conv2d', 'ReLU', 'MaxPool2d']
    """
    layers: list[Any] = []
    before = 3
    for after in cfg:
        if after == "M":
            layers.append(nn.MaxPool2d(2, 2))
            continue
        norm = [nn.BatchNorm2d(after)] if batch_norm else []
        layers += [nn.Conv2d(before, after, 3, padding=1), *norm, nn.ReLU(inplace=True)]
        before = after
    return nn.Sequential(*layers)


def vgg(depth: int, batch_norm: bool, settings: Any) -> Any:
    """The network of so many layers."""
    cfg: list[Any] = []
    for width, convolutions in zip((64, 128, 256, 512, 512), DEPTHS[depth], strict=True):
        cfg += [*[width] * convolutions, "M"]
    return VGG(make_layers(cfg, batch_norm), **settings)


class VGG11_Weights(WeightsEnum):
    """Files of `vgg11`."""

    IMAGENET1K_V1 = imagenet("vgg11-8a719046.pth")
    DEFAULT = IMAGENET1K_V1


class VGG11_BN_Weights(WeightsEnum):
    """Files of `vgg11_bn`."""

    IMAGENET1K_V1 = imagenet("vgg11_bn-6002323d.pth")
    DEFAULT = IMAGENET1K_V1


class VGG13_Weights(WeightsEnum):
    """Files of `vgg13`."""

    IMAGENET1K_V1 = imagenet("vgg13-19584684.pth")
    DEFAULT = IMAGENET1K_V1


class VGG13_BN_Weights(WeightsEnum):
    """Files of `vgg13_bn`."""

    IMAGENET1K_V1 = imagenet("vgg13_bn-abd245e5.pth")
    DEFAULT = IMAGENET1K_V1


class VGG16_Weights(WeightsEnum):
    """Files of `vgg16`."""

    IMAGENET1K_V1 = imagenet("vgg16-397923af.pth")
    IMAGENET1K_FEATURES = imagenet(
        "vgg16_features-amdegroot-88682ab5.pth",
        mean=(0.48235, 0.45882, 0.40784),
        std=(0.00392156862745098, 0.00392156862745098, 0.00392156862745098),
    )
    DEFAULT = IMAGENET1K_V1


class VGG16_BN_Weights(WeightsEnum):
    """Files of `vgg16_bn`."""

    IMAGENET1K_V1 = imagenet("vgg16_bn-6c64b313.pth")
    DEFAULT = IMAGENET1K_V1


class VGG19_Weights(WeightsEnum):
    """Files of `vgg19`."""

    IMAGENET1K_V1 = imagenet("vgg19-dcbb9e9d.pth")
    DEFAULT = IMAGENET1K_V1


class VGG19_BN_Weights(WeightsEnum):
    """Files of `vgg19_bn`."""

    IMAGENET1K_V1 = imagenet("vgg19_bn-c79401a0.pth")
    DEFAULT = IMAGENET1K_V1


@builder(VGG11_Weights, init_weights=False)
def vgg11(**settings: Any) -> Any:
    """VGG of 11 layers: `VGG`'s settings."""
    return vgg(11, False, settings)


@builder(VGG11_BN_Weights, init_weights=False)
def vgg11_bn(**settings: Any) -> Any:
    """VGG of 11 layers, normalized by batches: `VGG`'s settings."""
    return vgg(11, True, settings)


@builder(VGG13_Weights, init_weights=False)
def vgg13(**settings: Any) -> Any:
    """VGG of 13 layers: `VGG`'s settings."""
    return vgg(13, False, settings)


@builder(VGG13_BN_Weights, init_weights=False)
def vgg13_bn(**settings: Any) -> Any:
    """VGG of 13 layers, normalized by batches: `VGG`'s settings."""
    return vgg(13, True, settings)


@builder(VGG16_Weights, init_weights=False)
def vgg16(**settings: Any) -> Any:
    """VGG of 16 layers: `VGG`'s settings."""
    return vgg(16, False, settings)


@builder(VGG16_BN_Weights, init_weights=False)
def vgg16_bn(**settings: Any) -> Any:
    """VGG of 16 layers, normalized by batches: `VGG`'s settings."""
    return vgg(16, True, settings)


@builder(VGG19_Weights, init_weights=False)
def vgg19(**settings: Any) -> Any:
    """VGG of 19 layers: `VGG`'s settings."""
    return vgg(19, False, settings)


@builder(VGG19_BN_Weights, init_weights=False)
def vgg19_bn(**settings: Any) -> Any:
    """VGG of 19 layers, normalized by batches: `VGG`'s settings."""
    return vgg(19, True, settings)
