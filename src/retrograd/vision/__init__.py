"""Models, transforms and data sets of pictures, by torchvision's names: nothing is downloaded."""

from . import datasets, io, models, ops, transforms

__all__ = ["datasets", "io", "models", "ops", "transforms"]
