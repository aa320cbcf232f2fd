"""Transforms of pictures: functions of one picture or tensor, joined by `Compose`."""

from types import ModuleType

from . import functional
from .functional import InterpolationMode
from .random import *
from .transforms import *

__all__ = [
    name
    for name, value in globals().items()
    if not (name.startswith("_") or name == "ModuleType" or isinstance(value, ModuleType))
]
__all__ += ["functional"]
