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
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather",
    "reduce", "reduce_scatter", "scatter",
]  # fmt: skip

SUM = ReduceOp.SUM


class _Collective(Function):
    """A collective by the name of its function below, its options, and what it does to tensors."""

    @staticmethod
    def forward(ctx: Any, name: str, options: Any, *tensors: Tensor) -> Any:
        ctx.name, ctx.options, ctx.shapes = name, options, [tensor.shape for tensor in tensors]
        return COLLECTIVES[name][0](tensors, *options)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        found = COLLECTIVES[ctx.name][1](grads, ctx.shapes, *ctx.options)
        return None, None, *(found if isinstance(found, tuple) else (found,))


apply = _Collective.apply


def filled(call: Any, out: Any, *given: Any) -> Any:
    """What a collective writes to."""
    call(out, *given)
    return out


def to_one(tensors: Any, dst: int, op: ReduceOp, group: Any) -> Any:
    out = filled(dist.reduce, tensors[0].clone(), dst, op, group)
    return out if dist.get_rank() == dst else zeros_like(out)


def all_at(tensors: Any, dst: int, group: Any) -> Any:
    out = tuple(zeros_like(tensors[0]) for _ in range(dist.get_world_size(group)))
    dist.gather(tensors[0], out if dist.get_rank() == dst else None, dst, group)
    return out


def own_like(tensors: Any, group: Any) -> Any:
    """Memory like the tensor that is for this rank."""
    return empty_like(tensors[dist.get_rank(group)])


def shared(grads: Any, op: ReduceOp, group: Any) -> Any:
    """The cotangent of a reduction, for each that took part in it; ValueError for other ops."""
    if op not in (SUM, ReduceOp.AVG):
        raise ValueError(
            f"{op} has no derivative here. Reduce by ReduceOp.SUM or AVG, or a detached tensor"
        )
    return grads[0] if op is SUM else grads[0] / dist.get_world_size(group)


# What each computes, and its adjoint: of cotangents, the shapes of what was given, and options.
COLLECTIVES: dict[str, tuple[Any, Any]] = {
    "all_reduce": (
        lambda xs, op, group: filled(dist.all_reduce, xs[0].clone(), op, group),
        lambda gs, _, op, group: apply("all_reduce", (SUM, group), shared(gs, op, group)),
    ),
    "broadcast": (
        lambda xs, src, group: filled(dist.broadcast, xs[0].clone(), src, group),
        lambda gs, _, src, group: apply("reduce", (src, SUM, group), *gs),
    ),
    "reduce": (
        to_one,
        lambda gs, _, dst, op, group: apply("broadcast", (dst, group), shared(gs, op, group)),
    ),
    "all_gather": (
        lambda xs, group: filled(
            dist.all_gather, tuple(map(empty_like, xs * dist.get_world_size(group))), xs[0], group
        ),
        lambda gs, _, group: apply("reduce_scatter", (SUM, group), *gs),
    ),
    "reduce_scatter": (
        lambda xs, op, group: filled(dist.reduce_scatter, own_like(xs, group), xs, op, group),
        lambda gs, _, op, group: apply("all_gather", (group,), shared(gs, op, group)),
    ),
    "gather": (all_at, lambda gs, _, dst, group: apply("scatter", (dst, group), *gs)),
    "scatter": (
        lambda xs, src, group: filled(
            dist.scatter, own_like(xs, group), xs if dist.get_rank() == src else None, src, group
        ),
        lambda gs, _, src, group: apply("gather", (src, group), *gs),
    ),
    "all_to_all": (
        lambda xs, shapes, group: filled(
            dist.all_to_all, tuple(map(xs[0].new_empty, shapes)), xs, group
        ),
        lambda gs, shapes, _, group: apply("all_to_all", (shapes, group), *gs),
    ),
}


def all_reduce(tensor: Tensor, op: ReduceOp = SUM, group: Any = None) -> Tensor:
    """The reduction of the tensors of all ranks, on every rank.

    Its gradient is the sum of theirs. Raises ValueError in the backward pass for other reductions
    than SUM and AVG; other errors are those of `distributed.all_reduce`.

    >>> from retrograd.distributed import nn
    >>> nn.all_reduce(rg.ones(2, requires_grad=True))
    tensor([1., 1.], grad_fn=<_CollectiveBackward>)
    """
    return apply("all_reduce", (op, group), tensor)  # type: ignore[no-any-return]


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of rank `src`, on every rank; the gradients are added there.

    >>> from retrograd.distributed import nn
    >>> nn.broadcast(rg.ones(2), src=0)
    tensor([1., 1.])
    """
    return apply("broadcast", (src, group), tensor)  # type: ignore[no-any-return]


def reduce(tensor: Tensor, dst: int, op: ReduceOp = SUM, group: Any = None) -> Tensor:
    """The reduction of the tensors of all ranks at rank `dst`, zeros elsewhere.

    Every rank's gradient is that of `dst`. Raises ValueError in the backward pass for other
    reductions than SUM and AVG.

    >>> from retrograd.distributed import nn
    >>> nn.reduce(rg.ones(2), dst=0)
    tensor([1., 1.])
    """
    return apply("reduce", (dst, op, group), tensor)  # type: ignore[no-any-return]


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks, on every rank; gradients are added at the rank a tensor is from.

    >>> from retrograd.distributed import nn
    >>> nn.all_gather(rg.ones(2))
    (tensor([1., 1.]),)
    """
    return apply("all_gather", (group,), tensor)  # type: ignore[no-any-return]


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = SUM, group: Any = None
) -> Tensor:
    """The reduction of what all ranks have for this one; `output` says its shape and dtype.

    Raises ValueError in the backward pass for other reductions than SUM and AVG; other errors are
    those of `distributed.reduce_scatter`.

    >>> from retrograd.distributed import nn
    >>> nn.reduce_scatter(rg.zeros(2), [rg.ones(2)])
    tensor([1., 1.])
    """
    return apply("reduce_scatter", (op, group), *input_list)  # type: ignore[no-any-return]


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks at rank `dst`, zeros elsewhere.

    >>> from retrograd.distributed import nn
    >>> nn.gather(rg.ones(2))
    (tensor([1., 1.]),)
    """
    return apply("gather", (dst, group), tensor)  # type: ignore[no-any-return]


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """This rank's one of the tensors of rank `src`; elsewhere `tensors` says shapes and dtype.

    >>> from retrograd.distributed import nn
    >>> nn.scatter([rg.ones(2)])
    tensor([1., 1.])
    """
    return apply("scatter", (src, group), *tensors)  # type: ignore[no-any-return]


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """What each rank has for this one; the first list says the shapes of that.

    >>> from retrograd.distributed import nn
    >>> nn.all_to_all([rg.zeros(2)], [rg.ones(2)])
    (tensor([1., 1.]),)
    """
    shapes = [out.shape for out in output_tensor_list]
    return apply("all_to_all", (shapes, group), *input_tensor_list)  # type: ignore[no-any-return]


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

    >>> from retrograd.distributed import nn
    >>> nn.all_to_all_single(rg.zeros(2), rg.ones(2))
    tensor([1., 1.])
    """
    size = dist.get_world_size(group)
    sent, found = (
        [len(tensor) // size] * size if lengths is None else list(lengths)
        for tensor, lengths in ((input, input_split_sizes), (output, output_split_sizes))
    )
    shapes = [(length, *input.shape[1:]) for length in found]
    joined: Tensor = cat(apply("all_to_all", (shapes, group), *input.split(sent)))
    return joined
