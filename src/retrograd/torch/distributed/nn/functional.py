"""Collectives with derivatives, as if one program computed with the tensors of all ranks.

NOTE [Adjoints]
1. What counts is the sum of the losses of all ranks. Its gradient for what a rank sent is the sum
   over those that received it: the adjoint of a broadcast is a reduction, of a gather a scatter, of
   an exchange an exchange the other way round.
2. So the backward pass talks to other ranks, too: all of them run it, in the same order.
3. Adjoints are made of the same functions, and have derivatives themselves.
4. Sums and means have adjoints; other reductions raise where a gradient is asked of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....autograd.function import Function
from ....ops import cat, empty_like, zeros_like
from ... import distributed as dist
from ..collectives import ReduceOp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....engine.tensor import Tensor

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]

SUM = ReduceOp.SUM


def check_linear(op: ReduceOp) -> None:
    """ValueError for a reduction whose adjoint is not known."""
    if op not in (SUM, ReduceOp.AVG):
        raise ValueError(
            f"{op} has no derivative here. Reduce by ReduceOp.SUM or AVG, or a detached tensor"
        )


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: ReduceOp, group: Any, tensor: Tensor) -> Any:
        ctx.op, ctx.group = op, group
        out = tensor.clone()
        dist.all_reduce(out, op, group)
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        check_linear(ctx.op)
        return None, None, _AllReduce.apply(ctx.op, ctx.group, g)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Any:
        ctx.src, ctx.group = src, group
        out = tensor.clone()
        dist.broadcast(out, src, group)
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return None, None, _Reduce.apply(ctx.src, SUM, ctx.group, g)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: ReduceOp, group: Any, tensor: Tensor) -> Any:
        ctx.dst, ctx.op, ctx.group = dst, op, group
        out = tensor.clone()
        dist.reduce(out, dst, op, group)
        return out if dist.get_rank() == dst else zeros_like(out)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        check_linear(ctx.op)
        size = 1 if ctx.op is SUM else dist.get_world_size(ctx.group)
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, g / size)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> Any:
        ctx.group = group
        out = tuple(empty_like(tensor) for _ in range(dist.get_world_size(group)))
        dist.all_gather(out, tensor, group)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, _ReduceScatter.apply(SUM, ctx.group, *grads)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: ReduceOp, group: Any, *tensors: Tensor) -> Any:
        ctx.op, ctx.group = op, group
        out = empty_like(tensors[dist.get_rank(group)])
        dist.reduce_scatter(out, tensors, op, group)
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        check_linear(ctx.op)
        size = 1 if ctx.op is SUM else dist.get_world_size(ctx.group)
        return None, None, *_AllGather.apply(ctx.group, g / size)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Tensor) -> Any:
        ctx.dst, ctx.group = dst, group
        out = tuple(zeros_like(tensor) for _ in range(dist.get_world_size(group)))
        dist.gather(tensor, out if dist.get_rank() == dst else None, dst, group)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Any:
        ctx.src, ctx.group = src, group
        out = empty_like(tensors[dist.get_rank(group)])
        dist.scatter(out, tensors if dist.get_rank() == src else None, src, group)
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, g)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, shapes: Sequence[Any], *tensors: Tensor) -> Any:
        ctx.group, ctx.shapes = group, [tensor.shape for tensor in tensors]
        out = tuple(tensors[0].new_empty(shape) for shape in shapes)
        dist.all_to_all(out, tensors, group)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *grads)


def all_reduce(tensor: Tensor, op: ReduceOp = SUM, group: Any = None) -> Tensor:
    """The reduction of the tensors of all ranks, on every rank.

    Its gradient is the sum of theirs. Raises ValueError in the backward pass for other reductions
    than SUM and AVG; other errors are those of `distributed.all_reduce`.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> from retrograd.distributed import nn
    >>> nn.all_reduce(rg.ones(2, requires_grad=True))
    tensor([1., 1.], grad_fn=<_AllReduceBackward>)
    >>> rg.distributed.destroy_process_group()
    """
    found: Tensor = _AllReduce.apply(op, group, tensor)
    return found


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of rank `src`, on every rank; the gradients are added there.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> from retrograd.distributed import nn
    >>> nn.broadcast(rg.ones(2), src=0)
    tensor([1., 1.])
    >>> rg.distributed.destroy_process_group()
    """
    found: Tensor = _Broadcast.apply(src, group, tensor)
    return found


def reduce(tensor: Tensor, dst: int, op: ReduceOp = SUM, group: Any = None) -> Tensor:
    """The reduction of the tensors of all ranks at rank `dst`, zeros elsewhere.

    Every rank's gradient is that of `dst`. Raises ValueError in the backward pass for other
    reductions than SUM and AVG.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> from retrograd.distributed import nn
    >>> nn.reduce(rg.ones(2), dst=0)
    tensor([1., 1.])
    >>> rg.distributed.destroy_process_group()
    """
    found: Tensor = _Reduce.apply(dst, op, group, tensor)
    return found


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks, on every rank; gradients are added at the rank a tensor is from.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> from retrograd.distributed import nn
    >>> nn.all_gather(rg.ones(2))
    (tensor([1., 1.]),)
    >>> rg.distributed.destroy_process_group()
    """
    found: tuple[Tensor, ...] = _AllGather.apply(group, tensor)
    return found


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = SUM, group: Any = None
) -> Tensor:
    """The reduction of what all ranks have for this one; `output` says its shape and dtype.

    Raises ValueError in the backward pass for other reductions than SUM and AVG; other errors are
    those of `distributed.reduce_scatter`.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> from retrograd.distributed import nn
    >>> nn.reduce_scatter(rg.zeros(2), [rg.ones(2)])
    tensor([1., 1.])
    >>> rg.distributed.destroy_process_group()
    """
    found: Tensor = _ReduceScatter.apply(op, group, *input_list)
    return found


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks at rank `dst`, zeros elsewhere.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> from retrograd.distributed import nn
    >>> nn.gather(rg.ones(2))
    (tensor([1., 1.]),)
    >>> rg.distributed.destroy_process_group()
    """
    found: tuple[Tensor, ...] = _Gather.apply(dst, group, tensor)
    return found


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """This rank's one of the tensors of rank `src`; elsewhere `tensors` says shapes and dtype.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> from retrograd.distributed import nn
    >>> nn.scatter([rg.ones(2)])
    tensor([1., 1.])
    >>> rg.distributed.destroy_process_group()
    """
    found: Tensor = _Scatter.apply(src, group, *tensors)
    return found


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """What each rank has for this one; the first list says the shapes of that.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> from retrograd.distributed import nn
    >>> nn.all_to_all([rg.zeros(2)], [rg.ones(2)])
    (tensor([1., 1.]),)
    >>> rg.distributed.destroy_process_group()
    """
    found: tuple[Tensor, ...] = _AllToAll.apply(
        group, [out.shape for out in output_tensor_list], *input_tensor_list
    )
    return found


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
) -> Tensor:
    """What each rank has for this one, one behind the other along dimension 0.

    The sizes say how long the parts of each rank are; all alike by default. `output` says the shape
    of the result.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> from retrograd.distributed import nn
    >>> nn.all_to_all_single(rg.zeros(2), rg.ones(2))
    tensor([1., 1.])
    >>> rg.distributed.destroy_process_group()
    """
    size = dist.get_world_size(group)
    sent, found = (
        [len(tensor) // size] * size if lengths is None else list(lengths)
        for tensor, lengths in ((input, input_split_sizes), (output, output_split_sizes))
    )
    shapes = [(length, *input.shape[1:]) for length in found]
    joined: Tensor = cat(_AllToAll.apply(group, shapes, *input.split(sent)))
    return joined
