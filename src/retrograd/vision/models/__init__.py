"""Networks for pictures with torchvision's names of parameters, so that its files fit.

The functions that build them take `weights`: NOTE [Pretrained weights]. Other arguments are those
of the class.
"""

from types import ModuleType

from . import densenet, mobilenetv2, resnet, vgg
from .densenet import *
from .mobilenetv2 import *
from .resnet import *
from .vgg import *
from .weights import (
    Weights,
    WeightsEnum,
    get_model,
    get_model_builder,
    get_model_weights,
    get_weight,
    list_models,
)

__all__ = [
    name
    for name, value in globals().items()
    if not (name.startswith("_") or name == "ModuleType" or isinstance(value, ModuleType))
]
