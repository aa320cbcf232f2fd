"""Several processes that work together: `torch.distributed`, by MPI between them."""

from . import algorithms, autograd, exchanges, groups, objects, rpc, stores, subgroups
from .buckets import GradBucket
from .collectives import (
    ReduceOp,
    all_gather,
    all_gather_into_tensor,
    all_reduce,
    barrier,
    broadcast,
    gather,
    monitored_barrier,
    reduce,
    scatter,
)
from .engine.connections import DistNetworkError
from .constants import default_pg_timeout
from .device_mesh import DeviceMesh, init_device_mesh
from .entry import init_process_group
from .exchanges import *
from .groups import *
from .membership import (
    ProcessGroup,
    destroy_process_group,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    is_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
    _get_default_group,
    _get_global_rank,
    _rank_not_in_group,
)
from .messages import P2POp, batch_isend_irecv, irecv, isend, recv, send
from .objects import *
from .stores import *
from .subgroups import *
from .work import Work

__all__ = [
    "DeviceMesh",
    "DistNetworkError",
    "GradBucket",
    "P2POp",
    "ProcessGroup",
    "ReduceOp",
    "Work",
    "all_gather",
    "all_gather_into_tensor",
    "all_reduce",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "default_pg_timeout",
    "destroy_process_group",
    "gather",
    "get_backend",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "init_device_mesh",
    "init_process_group",
    "irecv",
    "is_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "isend",
    "monitored_barrier",
    "recv",
    "reduce",
    "scatter",
    "send",
]
__all__ += exchanges.__all__
__all__ += objects.__all__
__all__ += stores.__all__
__all__ += subgroups.__all__
__all__ += groups.__all__
