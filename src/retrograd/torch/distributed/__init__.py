"""Several processes that work together: `torch.distributed`, by MPI between them."""

from . import algorithms, autograd, collectives, groups, membership, messages, objects, rpc, stores
from .buckets import GradBucket
from .collectives import *
from .engine.connections import DistNetworkError
from .constants import default_pg_timeout
from .device_mesh import DeviceMesh, init_device_mesh
from .groups import *
from .membership import *
from .membership import _get_default_group, _get_global_rank, _rank_not_in_group
from .messages import *
from .objects import *
from .stores import *
from .work import Work

__all__ = [
    "DeviceMesh", "DistNetworkError", "GradBucket", "Work", "default_pg_timeout",
    "init_device_mesh",
]  # fmt: skip
__all__ += collectives.__all__
__all__ += groups.__all__
__all__ += membership.__all__
__all__ += messages.__all__
__all__ += objects.__all__
__all__ += stores.__all__
