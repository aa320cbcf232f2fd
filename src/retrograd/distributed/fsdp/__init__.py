"""Modules whose parameters lie over the ranks: PyTorch's `torch.distributed.fsdp`."""

from . import api
from .api import *
from .fully import FSDPModule, MixedPrecisionPolicy, fully_shard
from .fully_sharded_data_parallel import FullyShardedDataParallel

__all__ = [
    "FSDPModule",
    "FullyShardedDataParallel",
    "MixedPrecisionPolicy",
    "fully_shard",
]
__all__ += api.__all__
