"""Networks for pictures with torchvision's names of parameters, so that its files fit.

The functions that build them take `weights`, the path of a checkpoint, or `pretrained=True`, for
the one that PyTorch has downloaded before: see `weights`. Other arguments are those of the class.
"""

from .densenet import DenseNet, densenet121, densenet161, densenet169, densenet201
from .mobilenet import MobileNetV2, mobilenet_v2
from .resnet import (
    ResNet,
    resnet18,
    resnet34,
    resnet50,
    resnet101,
    resnet152,
    resnext50_32x4d,
    wide_resnet50_2,
)
from .vgg import VGG, vgg11, vgg11_bn, vgg13, vgg13_bn, vgg16, vgg16_bn, vgg19, vgg19_bn

__all__ = [
    "VGG",
    "DenseNet",
    "MobileNetV2",
    "ResNet",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
    "mobilenet_v2",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
    "resnext50_32x4d",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
    "wide_resnet50_2",
]
