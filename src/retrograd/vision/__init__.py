"""Models, transforms and data sets of pictures, by torchvision's names: nothing is downloaded."""

from . import datasets, models, transforms

__all__ = ["datasets", "models", "transforms"]
