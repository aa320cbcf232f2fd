"""Collectives that return a new tensor, by PyTorch's private names, for programs that use them.

A group is a group, a mesh of one dimension, or a mesh and the number of a dimension. Results are
there when the functions return, and have the derivatives of `distributed.nn`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ops import cat
from .collectives import ReduceOp
from .device_mesh import DeviceMesh
from .nn import functional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...engine.tensor import Tensor

__all__ = [
    "all_gather_tensor", "all_gather_tensor_autograd", "all_reduce", "all_to_all_single",
    "all_to_all_single_autograd", "wait_tensor",
]  # fmt: skip


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """The tensors of all ranks, one behind the other along a dimension."""
    whole: Tensor = cat(functional.all_gather(self, group_of(group)), gather_dim)
    return whole


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """The reduction of the tensors of all ranks; `reduceOp` is the name of one, such as "sum"."""
    return functional.all_reduce(self, ReduceOp[reduceOp.upper()], group_of(group))


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


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor, which is there already."""
    return tensor


all_gather_tensor_autograd = all_gather_tensor
all_to_all_single_autograd = all_to_all_single


def group_of(group: Any) -> Any:
    """The group of a mesh, or of one of its dimensions."""
    if isinstance(group, DeviceMesh):
        return group.get_group()
    if isinstance(group, tuple) and isinstance(group[0], DeviceMesh):
        return group[0].get_group(group[1])
    return group
