"""What every rank has a part of for every other: `reduce_scatter` and `all_to_all`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .collectives import ReduceOp, array_of, check_list, collective, put, put_all, ufunc_of
from .membership import joined
from .work import Work, carried_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...engine.tensor import Tensor
    from .engine.progress import Steps

__all__ = ["all_to_all", "all_to_all_single", "reduce_scatter", "reduce_scatter_tensor"]


@collective
def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Overwrite `output` by the reduction of what all ranks have for this one.

    input_list: a tensor for each rank, of the shape and dtype of `output`, else ValueError; other
    errors are those of `all_reduce`.

    >>> out = rg.zeros(2); rg.distributed.reduce_scatter(out, [rg.ones(2)]); out
    tensor([1., 1.])
    """
    world, like = joined(group).world, array_of(output)
    check_list("input_list", input_list, [like] * world.size)
    arrays = [*map(array_of, input_list)]
    name, call = ufunc_of("reduce_scatter", like, op), f"reduce_scatter {op.name}"

    def steps() -> Steps:
        return (yield from world.reduce_scatter(call, np.stack(arrays), name))

    return carried_out(world, async_op, [output], call, steps(), partial(put, output))


@collective
def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Overwrite `output` by this rank's part of the reduction of all inputs along dimension 0.

    input: of shape (size * n, ...) or (size, n, ...) for an output of shape (n, ...), and of its
    dtype, else ValueError; other errors are those of `all_reduce`.

    >>> out = rg.zeros(2); rg.distributed.reduce_scatter_tensor(out, rg.ones(2)); out
    tensor([1., 1.])
    """
    world, out, array = joined(group).world, array_of(output), array_of(input)
    if array.size != world.size * out.size or out.dtype != array.dtype:
        raise ValueError(
            f"input tensor must be the same size as output size times world size: one of shape "
            f"{array.shape} and dtype {array.dtype} is not {world.size} of shape {out.shape} and "
            f"dtype {out.dtype}"
        )
    name, call = ufunc_of("reduce_scatter_tensor", array, op), f"reduce_scatter_tensor {op.name}"

    def steps() -> Steps:
        return (yield from world.reduce_scatter(call, array.reshape(-1, *out.shape), name))

    return carried_out(world, async_op, [output], call, steps(), partial(put, output))


@collective
def all_to_all(
    output_tensor_list: Sequence[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send each rank its tensor of `input_tensor_list`, and fill the other list by what comes.

    What one rank sends has the shape and dtype of what the other expects. Raises ValueError for a
    list of another length, DistNetworkError for another shape.

    >>> out = [rg.zeros(2)]; rg.distributed.all_to_all(out, [rg.ones(2)]); out
    [tensor([1., 1.])]
    """
    world = joined(group).world
    parts = [*map(array_of, input_tensor_list)]
    places = [*map(array_of, output_tensor_list)]
    if not len(parts) == len(places) == world.size:
        raise ValueError(
            f"all_to_all takes one tensor for each of {world.size} ranks, got "
            f"{len(parts)} to send and {len(places)} to fill"
        )

    steps = world.all_to_all("all_to_all", parts, places)
    then = partial(put_all, output_tensor_list)
    return carried_out(world, async_op, output_tensor_list, "all_to_all", steps, then)


@collective
def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send each rank its part of `input` along dimension 0, and fill `output` by what comes.

    The sizes say how long the parts are, for each rank; all alike by default. Raises ValueError for
    sizes that do not add up to the tensor's.

    >>> out = rg.zeros(2); rg.distributed.all_to_all_single(out, rg.ones(2)); out
    tensor([1., 1.])
    """
    world, out, array = joined(group).world, array_of(output), array_of(input)
    parts = _parts("input", array, input_split_sizes, world.size)
    places = _parts("output", out, output_split_sizes, world.size)

    def joined_parts(found: list[Any]) -> None:
        put(output, np.concatenate(found))

    steps = world.all_to_all("all_to_all_single", parts, places)
    return carried_out(world, async_op, [output], "all_to_all_single", steps, joined_parts)


def _parts(name: str, array: Any, sizes: Sequence[int] | None, count: int) -> list[Any]:
    """An array's parts along dimension 0, one for each rank."""
    length = len(array) if array.ndim else 1
    lengths = [length // count] * count if sizes is None else [*sizes]
    if len(lengths) != count or sum(lengths) != length or min(lengths) < 0:
        raise ValueError(
            f"Number of tensor splits not equal to group size, or split sizes do not add up: "
            f"{name} of shape {array.shape} has no parts of lengths {lengths} for {count} ranks"
        )
    return np.split(array, np.cumsum(lengths)[:-1])
