"""Modules whose parameters lie over the ranks: PyTorch's `torch.distributed.fsdp`."""

from . import fully, fully_sharded_data_parallel
from .fully import *
from .fully_sharded_data_parallel import *

__all__ = [*fully.__all__, *fully_sharded_data_parallel.__all__]
