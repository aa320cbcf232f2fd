"""Collectives that return a new tensor, by PyTorch's private names, for programs that use them.

A group is a group, a mesh of one dimension, or a mesh and the number of a dimension. Results are
there when the functions return, and have the derivatives of `distributed.nn`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ops import cat
from .collectives import ReduceOp
from .device_mesh import DeviceMesh
from .membership import get_world_size
from .nn import functional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...engine.tensor import Tensor

__all__ = [
    "all_gather_tensor", "all_gather_tensor_autograd", "all_reduce", "all_to_all_single",
    "all_to_all_single_autograd", "broadcast", "reduce_scatter_tensor",
    "reduce_scatter_tensor_autograd", "wait_tensor",
]  # fmt: skip


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """The tensors of all ranks, one behind the other along a dimension."""
    whole: Tensor = cat(functional.all_gather(self, group_of(group)), gather_dim)
    return whole


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """The reduction of the tensors of all ranks; `reduceOp` is the name of one, such as "sum"."""
    return functional.all_reduce(self, ReduceOp[reduceOp.upper()], group_of(group))


def reduce_scatter_tensor(
    self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = ""
) -> Tensor:
    """This rank's part, along a dimension, of the reduction of the tensors of all ranks.

    Raises ValueError for a dimension that the ranks do not divide.
    """
    own, length = group_of(group), self.shape[scatter_dim]
    size = get_world_size(own)
    if length % size:
        raise ValueError(
            f"input dimension {scatter_dim} ({length}) must be a multiple of group_size {size}"
        )
    parts = [part.contiguous() for part in self.chunk(size, scatter_dim)]
    return functional.reduce_scatter(parts[0], parts, ReduceOp[reduceOp.upper()], own)


def all_to_all_single(
    self: Tensor,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any,
    tag: str = "",
) -> Tensor:
    """What each rank has for this one, one behind the other along dimension 0."""
    lengths = output_split_sizes
    out = self if lengths is None else self.new_empty((sum(lengths), *self.shape[1:]))
    return functional.all_to_all_single(out, self, lengths, input_split_sizes, group_of(group))


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """The tensor of rank `src`."""
    return functional.broadcast(self, src, group_of(group))


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor, which is there already."""
    return tensor


all_gather_tensor_autograd = all_gather_tensor
reduce_scatter_tensor_autograd = reduce_scatter_tensor
all_to_all_single_autograd = all_to_all_single


def group_of(group: Any) -> Any:
    """The group of a mesh, or of one of its dimensions."""
    if isinstance(group, DeviceMesh):
        return group.get_group()
    if isinstance(group, tuple) and isinstance(group[0], DeviceMesh):
        return group[0].get_group(group[1])
    return group
