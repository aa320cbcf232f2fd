"""Collectives with derivatives: PyTorch's `torch.distributed.nn`."""

from . import functional
from .functional import *

__all__ = functional.__all__
