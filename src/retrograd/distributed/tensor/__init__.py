"""Tensors that lie over the ranks of a mesh: PyTorch's `torch.distributed.tensor`."""

from .api import DTensor, distribute_module, distribute_tensor
from .factories import empty, full, ones, rand, randn, zeros
from .placements import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "empty",
    "full",
    "ones",
    "rand",
    "randn",
    "zeros",
]
