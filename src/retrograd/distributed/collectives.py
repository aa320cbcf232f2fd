"""The group of processes, and what they compute together: tensors are sent, gathered, reduced.

NOTE [Collectives]
1. All ranks call the same functions in the same order; a call returns when this rank's part is
   done, so what `async_op=True` returns has nothing left to wait for. Tensors are
   written in place, without history, as in PyTorch.
2. A reduction adds in the order of ranks at one of them, which sends the result to all: every rank
   has the same bits. Complex numbers are added and multiplied as such, and have no order.
3. Objects other than tensors are not sent: that takes pickle, and who unpickles runs the sender's
   code. So there is no `all_gather_object` and no `broadcast_object_list`.
"""

from __future__ import annotations

from enum import Enum
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.grad_mode import inference_mode
from ..engine.tensor import Tensor, new_tensor
from ..quiet import quietly
from .membership import get_rank, get_world_size, joined
from .work import Work, done

if TYPE_CHECKING:
    from collections.abc import Sequence


class ReduceOp(Enum):
    """How a reduction joins the tensors of all ranks; AVG is the sum divided by their number.

    >>> rg.distributed.ReduceOp.SUM
    <ReduceOp.SUM: 'add'>
    """

    SUM = "add"
    AVG = "mean"
    PRODUCT = "multiply"
    MIN = "minimum"
    MAX = "maximum"
    BAND = "bitwise_and"
    BOR = "bitwise_or"
    BXOR = "bitwise_xor"


ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]  # PyTorch's name of its class


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait until all ranks are here.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> rg.distributed.barrier()
    >>> rg.distributed.destroy_process_group()
    """
    joined(group)
    _to_all("barrier", np.empty(0), "add")
    return done(async_op)


def broadcast(tensor: Tensor, src: int, group: Any = None, async_op: bool = False) -> Work | None:
    """Overwrite the tensor, of one shape and dtype on all ranks, by that of rank `src`.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> x = rg.tensor([1j, 2.0]); rg.distributed.broadcast(x, src=0); x
    tensor([0.+1.j, 2.+0.j])
    >>> rg.distributed.destroy_process_group()
    """
    joined(group)
    src = rank_of(src)
    put(tensor, _spread(f"broadcast from rank {src}", src, array_of(tensor)))
    return done(async_op)


def all_reduce(
    tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Overwrite the tensor, of one shape and dtype on all ranks, by the reduction of all of them.

    Raises ValueError for MIN and MAX of complex numbers, and for AVG of integers; TypeError for an
    `op` that is no ReduceOp.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> x = rg.tensor([1j, 2.0]); rg.distributed.all_reduce(x, rg.distributed.ReduceOp.AVG); x
    tensor([0.+1.j, 2.+0.j])
    >>> rg.distributed.destroy_process_group()
    """
    joined(group)
    array = array_of(tensor)
    name = _ufunc("all_reduce", array, op)
    put(tensor, _to_all(f"all_reduce {op.name}", array, name))
    return done(async_op)


def reduce(
    tensor: Tensor, dst: int, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """As `all_reduce`, for rank `dst`; the tensors of the others stay as they are.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> x = rg.tensor([1.0, 2.0]); rg.distributed.reduce(x, dst=0); x
    tensor([1., 2.])
    >>> rg.distributed.destroy_process_group()
    """
    joined(group)
    dst, array = rank_of(dst), array_of(tensor)
    name = _ufunc("reduce", array, op)
    found = _collect(f"reduce {op.name} to rank {dst}", dst, array)
    if found:
        put(tensor, _reduced(found, name))
    return done(async_op)


def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Fill the list's tensors, one for each rank, with the tensors of the ranks.

    All have one shape and dtype.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> out = [rg.zeros(2)]; rg.distributed.all_gather(out, rg.ones(2)); out
    [tensor([1., 1.])]
    >>> rg.distributed.destroy_process_group()
    """
    joined(group)
    array = array_of(tensor)
    _check("tensor_list", tensor_list, array)
    found = _collect("all_gather", 0, array)
    for number, out in enumerate(tensor_list):
        put(out, _spread("all_gather", 0, found[number] if found else array))
    return done(async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Fill one tensor with those of the ranks, one behind the other along dimension 0, or stacked.

    output_tensor: of shape (size * n, ...) or (size, n, ...) for an input of shape (n, ...), and of
    its dtype. Raises ValueError for another shape or dtype.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> out = rg.zeros(2); rg.distributed.all_gather_into_tensor(out, rg.ones(2)); out
    tensor([1., 1.])
    >>> rg.distributed.destroy_process_group()
    """
    size, array, out = joined(group).size, array_of(input_tensor), array_of(output_tensor)
    if out.size != size * array.size or out.dtype != array.dtype:
        raise ValueError(
            f"output tensor size must be equal to world_size times input tensor size: {size} "
            f"tensors of shape {array.shape} and dtype {array.dtype} do not fill one of shape "
            f"{out.shape} and dtype {out.dtype}"
        )
    found = _collect("all_gather_into_tensor", 0, array)
    whole = np.stack(found).reshape(out.shape) if found else out
    put(output_tensor, _spread("all_gather_into_tensor", 0, whole))
    return done(async_op)


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int = 0,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Fill the list of rank `dst`, one tensor for each rank, with the tensors of the ranks.

    Raises ValueError where the list is missing or wrong there, or given elsewhere.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> out = [rg.zeros(2)]; rg.distributed.gather(rg.ones(2), out); out
    [tensor([1., 1.])]
    >>> rg.distributed.destroy_process_group()
    """
    joined(group)
    dst, array = rank_of(dst), array_of(tensor)
    places = _check_at(dst, "gather_list", gather_list, array)
    for out, found in zip(places, _collect("gather", dst, array), strict=True):
        put(out, found)
    return done(async_op)


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int = 0,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Overwrite the tensor by this rank's one of the list of rank `src`.

    Raises ValueError where the list is missing or wrong there, or given elsewhere.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> x = rg.zeros(2); rg.distributed.scatter(x, [rg.ones(2)]); x
    tensor([1., 1.])
    >>> rg.distributed.destroy_process_group()
    """
    world, src, array = joined(group), rank_of(src), array_of(tensor)
    parts = _check_at(src, "scatter_list", scatter_list, array)
    if world.rank != src:
        put(tensor, world.receive(src, "scatter", array))
        return done(async_op)
    for rank in world.peers:
        world.send(rank, "scatter", array_of(parts[rank]))
    put(tensor, array_of(parts[src]))
    return done(async_op)


def rank_of(rank: Any) -> int:
    """The number of a rank; ValueError where the group has none of that number."""
    if not 0 <= index(rank) < get_world_size():
        raise ValueError(
            f"invalid rank {rank}: the group has the ranks 0 to {get_world_size() - 1}"
        )
    return index(rank)


def array_of(tensor: Any) -> Any:
    """A tensor's array; TypeError for what is none."""
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"Expected parameter `tensor` of type retrograd.Tensor but got {type(tensor)} instead."
        )
    return tensor._array


def put(tensor: Tensor, array: Any) -> None:
    """Overwrite a tensor by what has come."""
    with inference_mode():  # which may write to its own tensors, too
        tensor.copy_(new_tensor(array))


def _check(name: str, tensors: Sequence[Tensor] | None, like: Any) -> Sequence[Tensor]:
    """The list, which has a tensor of one shape and dtype for each rank."""
    if tensors is None or len(tensors) != get_world_size():
        raise ValueError(
            f"Argument `{name}` must be specified here, with one tensor for each of "
            f"{get_world_size()} ranks"
        )
    for number, array in enumerate(map(array_of, tensors)):
        if (array.shape, array.dtype) != (like.shape, like.dtype):
            raise ValueError(
                f"invalid tensor at index {number} of {name}: expected shape {like.shape} and "
                f"dtype {like.dtype}, got {array.shape} and {array.dtype}"
            )
    return tensors


def _check_at(
    rank: int, name: str, tensors: Sequence[Tensor] | None, like: Any
) -> Sequence[Tensor]:
    """`_check` at one rank; none elsewhere."""
    if get_rank() == rank:
        return _check(name, tensors, like)
    if tensors:
        raise ValueError(
            f"Argument `{name}` must NOT be specified on other ranks than {rank}, this is rank "
            f"{get_rank()}. Pass None"
        )
    return ()


def _ufunc(call: str, array: Any, op: ReduceOp) -> str:
    """NumPy's name of a reduction that the dtype has."""
    if not isinstance(op, ReduceOp):
        raise TypeError(f"{call} takes an op such as ReduceOp.SUM, got {op!r}")
    lacks = {ReduceOp.AVG: "biu", ReduceOp.MIN: "c", ReduceOp.MAX: "c"}
    bits = dict.fromkeys((ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR), "fc")
    if array.dtype.kind in (lacks | bits).get(op, ""):
        kind = {"c": "complex", "f": "floating point"}.get(array.dtype.kind, "integer")
        raise ValueError(f"{call} does not support {op} on {kind} tensors")
    return op.value


def _collect(call: str, dst: int, array: Any) -> list[Any]:
    """The arrays of all ranks in their order, at `dst`; elsewhere none."""
    world = joined()
    if world.rank != dst:
        world.send(dst, call, array)
        return []
    ranks = range(world.size)
    return [array if r == dst else world.receive(r, call, array) for r in ranks]


def _spread(call: str, src: int, array: Any) -> Any:
    """The array of `src`, on all ranks."""
    world = joined()
    if world.rank != src:
        return world.receive(src, call, array)
    for rank in world.peers:
        world.send(rank, call, array)
    return array


def _to_all(call: str, array: Any, name: str) -> Any:
    found = _collect(call, 0, array)
    return _spread(call, 0, _reduced(found, name) if found else array)


@quietly
def _reduced(arrays: list[Any], name: str) -> Any:
    first, *others = arrays
    total = first.copy()
    for other in others:
        getattr(np, "add" if name == "mean" else name)(total, other, out=total)
    if name == "mean":
        np.divide(total, len(arrays), out=total, casting="same_kind")
    return total
