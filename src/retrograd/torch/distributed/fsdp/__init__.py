"""Modules whose parameters lie over the ranks: PyTorch's `torch.distributed.fsdp`."""

from . import api
from .api import *
from .fully import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method
from .fully_sharded_data_parallel import FullyShardedDataParallel

__all__ = [
    "FSDPModule",
    "FullyShardedDataParallel",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
]
__all__ += api.__all__
