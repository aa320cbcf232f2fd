"""Transforms of pictures: functions of one picture or tensor, joined by `Compose`."""

from . import functional, transforms
from .functional import InterpolationMode
from .transforms import *

__all__ = ["InterpolationMode", "functional"]
__all__ += transforms.__all__
