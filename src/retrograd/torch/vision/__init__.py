"""ResNet, and the operators that torchvision has in C++: torchvision itself runs on the alias."""

from . import models, ops

__all__ = ["models", "ops"]

__version__ = "0.28.0+retrograd"  # of the torchvision that goes with the PyTorch that is followed
