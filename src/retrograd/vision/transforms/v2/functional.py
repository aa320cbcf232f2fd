"""The functions of `transforms.functional`, which take pictures and tensors here as there."""

from ..functional import *  # noqa: F403
from ..functional import InterpolationMode

__all__ = ["InterpolationMode"]
