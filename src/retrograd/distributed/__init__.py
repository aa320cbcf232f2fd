"""Several processes that work together over TCP: `torch.distributed` with one group of all."""

from .collectives import (
    ReduceOp,
    all_gather,
    all_reduce,
    barrier,
    broadcast,
    destroy_process_group,
    gather,
    get_backend,
    get_rank,
    get_world_size,
    init_process_group,
    is_available,
    is_initialized,
    recv,
    reduce,
    scatter,
    send,
)
from .connections import DistNetworkError

__all__ = [
    "DistNetworkError",
    "ReduceOp",
    "all_gather",
    "all_reduce",
    "barrier",
    "broadcast",
    "destroy_process_group",
    "gather",
    "get_backend",
    "get_rank",
    "get_world_size",
    "init_process_group",
    "is_available",
    "is_initialized",
    "recv",
    "reduce",
    "scatter",
    "send",
]
