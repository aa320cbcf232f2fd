"""Models, transforms and data sets of pictures, by torchvision's names: nothing is downloaded."""

from . import datasets, io, models, ops, transforms, utils

__all__ = ["datasets", "io", "models", "ops", "transforms", "utils"]

__version__ = "0.28.0+retrograd"  # of the torchvision that goes with the PyTorch that is followed
