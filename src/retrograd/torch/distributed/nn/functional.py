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
    """A collective that computes on tensors, and its adjoint, which does on cotangents."""

    @staticmethod
    def forward(ctx: Any, call: Any, adjoint: Any, *tensors: Tensor) -> Any:
        ctx.adjoint = adjoint
        return call(*tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        found = ctx.adjoint(*grads)
        return None, None, *(found if isinstance(found, tuple) else (found,))


apply = _Collective.apply


def filled(call: Any, out: Any, *given: Any) -> Any:
    """What a collective writes to."""
    call(out, *given)
    return out


def shared(g: Tensor, op: ReduceOp, group: Any) -> Any:
    """The cotangent of a reduction, for each that took part in it; ValueError for other ops."""
    if op not in (SUM, ReduceOp.AVG):
        raise ValueError(
            f"{op} has no derivative here. Reduce by ReduceOp.SUM or AVG, or a detached tensor"
        )
    return g if op is SUM else g / dist.get_world_size(group)


def all_reduce(tensor: Tensor, op: ReduceOp = SUM, group: Any = None) -> Tensor:
    """The reduction of the tensors of all ranks, on every rank.

    Its gradient is the sum of theirs. Raises ValueError in the backward pass for other reductions
    than SUM and AVG; other errors are those of `distributed.all_reduce`.

    >>> from retrograd.distributed import nn
    >>> nn.all_reduce(rg.ones(2, requires_grad=True))
    tensor([1., 1.], grad_fn=<_CollectiveBackward>)
    """
    return apply(  # type: ignore[no-any-return]
        lambda x: filled(dist.all_reduce, x.clone(), op, group),
        lambda g: all_reduce(shared(g, op, group), SUM, group),
        tensor,
    )


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of rank `src`, on every rank; the gradients are added there.

    >>> from retrograd.distributed import nn
    >>> nn.broadcast(rg.ones(2), src=0)
    tensor([1., 1.])
    """
    return apply(  # type: ignore[no-any-return]
        lambda x: filled(dist.broadcast, x.clone(), src, group),
        lambda g: reduce(g, src, SUM, group),
        tensor,
    )


def reduce(tensor: Tensor, dst: int, op: ReduceOp = SUM, group: Any = None) -> Tensor:
    """The reduction of the tensors of all ranks at rank `dst`, zeros elsewhere.

    Every rank's gradient is that of `dst`. Raises ValueError in the backward pass for other
    reductions than SUM and AVG.

    >>> from retrograd.distributed import nn
    >>> nn.reduce(rg.ones(2), dst=0)
    tensor([1., 1.])
    """

    def run(x: Tensor) -> Any:
        out = filled(dist.reduce, x.clone(), dst, op, group)
        return out if dist.get_rank() == dst else zeros_like(out)

    return apply(run, lambda g: broadcast(shared(g, op, group), dst, group), tensor)  # type: ignore[no-any-return]


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks, on every rank; gradients are added at the rank a tensor is from.

    >>> from retrograd.distributed import nn
    >>> nn.all_gather(rg.ones(2))
    (tensor([1., 1.]),)
    """
    size = dist.get_world_size(group)
    return apply(  # type: ignore[no-any-return]
        lambda x: filled(dist.all_gather, tuple(map(empty_like, [x] * size)), x, group),
        lambda *gs: reduce_scatter(gs[0], gs, SUM, group),
        tensor,
    )


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
    rank = dist.get_rank(group)
    return apply(  # type: ignore[no-any-return]
        lambda *xs: filled(dist.reduce_scatter, empty_like(xs[rank]), xs, op, group),
        lambda g: all_gather(shared(g, op, group), group),
        *input_list,
    )


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks at rank `dst`, zeros elsewhere.

    >>> from retrograd.distributed import nn
    >>> nn.gather(rg.ones(2))
    (tensor([1., 1.]),)
    """

    def run(x: Tensor) -> Any:
        out = tuple(map(zeros_like, [x] * dist.get_world_size(group)))
        dist.gather(x, out if dist.get_rank() == dst else None, dst, group)
        return out

    return apply(run, lambda *gs: scatter(gs, dst, group), tensor)  # type: ignore[no-any-return]


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """This rank's one of the tensors of rank `src`; elsewhere `tensors` says shapes and dtype.

    >>> from retrograd.distributed import nn
    >>> nn.scatter([rg.ones(2)])
    tensor([1., 1.])
    """

    def run(*xs: Tensor) -> Any:
        out = empty_like(xs[dist.get_rank(group)])
        return filled(dist.scatter, out, xs if dist.get_rank() == src else None, src, group)

    return apply(run, lambda g: gather(g, src, group), *tensors)  # type: ignore[no-any-return]


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """What each rank has for this one; the first list says the shapes of that.

    >>> from retrograd.distributed import nn
    >>> nn.all_to_all([rg.zeros(2)], [rg.ones(2)])
    (tensor([1., 1.]),)
    """
    return _exchanged([out.shape for out in output_tensor_list], input_tensor_list, group)


def _exchanged(shapes: Any, tensors: Any, group: Any) -> tuple[Tensor, ...]:
    given = [x.shape for x in tensors]
    return apply(  # type: ignore[no-any-return]
        lambda *xs: filled(dist.all_to_all, tuple(map(xs[0].new_empty, shapes)), xs, group),
        lambda *gs: _exchanged(given, gs, group),
        *tensors,
    )


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
    joined: Tensor = cat(_exchanged(shapes, input.split(sent), group))
    return joined
