"""Plain deep networks: K. Simonyan and A. Zisserman, "Very deep convolutional networks" (2014)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import nn
from .weights import filled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...engine.tensor import Tensor

__all__ = [
    "VGG",
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
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


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


def vgg(depth: int, batch_norm: bool, pretrained: bool, weights: Any, settings: Any) -> Any:
    """The network of so many layers."""
    cfg: list[Any] = []
    for width, convolutions in zip((64, 128, 256, 512, 512), DEPTHS[depth], strict=True):
        cfg += [*[width] * convolutions, "M"]
    if pretrained or weights:
        settings = {**settings, "init_weights": False}
    model = VGG(make_layers(cfg, batch_norm), **settings)
    return filled(model, f"vgg{depth}{'_bn' * batch_norm}", pretrained, weights)


def vgg11(
    pretrained: bool = False, *, weights: Any = None, progress: bool = True, **settings: Any
) -> Any:
    """VGG of 11 layers: `VGG`'s settings."""
    return vgg(11, False, pretrained, weights, settings)


def vgg11_bn(
    pretrained: bool = False, *, weights: Any = None, progress: bool = True, **settings: Any
) -> Any:
    """VGG of 11 layers, normalized by batches: `VGG`'s settings."""
    return vgg(11, True, pretrained, weights, settings)


def vgg13(
    pretrained: bool = False, *, weights: Any = None, progress: bool = True, **settings: Any
) -> Any:
    """VGG of 13 layers: `VGG`'s settings."""
    return vgg(13, False, pretrained, weights, settings)


def vgg13_bn(
    pretrained: bool = False, *, weights: Any = None, progress: bool = True, **settings: Any
) -> Any:
    """VGG of 13 layers, normalized by batches: `VGG`'s settings."""
    return vgg(13, True, pretrained, weights, settings)


def vgg16(
    pretrained: bool = False, *, weights: Any = None, progress: bool = True, **settings: Any
) -> Any:
    """VGG of 16 layers: `VGG`'s settings."""
    return vgg(16, False, pretrained, weights, settings)


def vgg16_bn(
    pretrained: bool = False, *, weights: Any = None, progress: bool = True, **settings: Any
) -> Any:
    """VGG of 16 layers, normalized by batches: `VGG`'s settings."""
    return vgg(16, True, pretrained, weights, settings)


def vgg19(
    pretrained: bool = False, *, weights: Any = None, progress: bool = True, **settings: Any
) -> Any:
    """VGG of 19 layers: `VGG`'s settings."""
    return vgg(19, False, pretrained, weights, settings)


def vgg19_bn(
    pretrained: bool = False, *, weights: Any = None, progress: bool = True, **settings: Any
) -> Any:
    """VGG of 19 layers, normalized by batches: `VGG`'s settings."""
    return vgg(19, True, pretrained, weights, settings)
