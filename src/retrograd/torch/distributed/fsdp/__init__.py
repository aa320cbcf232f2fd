"""Modules whose parameters lie over the ranks: PyTorch's `torch.distributed.fsdp`."""

from . import fully
from .fully import *
from .fully_sharded_data_parallel import FullyShardedDataParallel

__all__ = ["FullyShardedDataParallel"]
__all__ += fully.__all__
