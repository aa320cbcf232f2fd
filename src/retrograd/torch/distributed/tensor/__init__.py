"""Tensors that lie over the ranks of a mesh: PyTorch's `torch.distributed.tensor`."""

from ..device_mesh import DeviceMesh, init_device_mesh
from .api import DTensor, distribute_module, distribute_tensor
from .placements import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module",
    "distribute_tensor", "init_device_mesh",
]  # fmt: skip
