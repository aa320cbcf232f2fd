"""What processes compute together: tensors are sent, gathered, reduced.

NOTE [Collectives]
1. All ranks call the same functions in the same order; a call returns when this rank's part is
   done. With `async_op=True` it returns at once, and its part is done beside the program, in the
   order of the calls. Arguments are checked before. Tensors are read and written when their turn
   comes, and their version grows at the end: they are not to be touched before `wait()` returns.
   They are written in place, without history, as in PyTorch.
2. A reduction gives the same bits on every rank. Complex numbers are added and multiplied as such,
   and have no order.
"""

from __future__ import annotations

import inspect
import warnings
from enum import Enum
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ... import version
from ...autograd.grad_mode import inference_mode
from ...engine.tensor import Tensor, new_tensor, wrote
from ...kernels.allocation import is_traced
from .membership import joined, outside, rank_of
from .work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import timedelta

    from .engine.world import World

__all__ = [
    "ReduceOp", "all_gather", "all_gather_into_tensor", "all_reduce", "all_to_all",
    "all_to_all_single", "barrier", "broadcast", "gather", "monitored_barrier", "reduce",
    "reduce_scatter", "reduce_scatter_tensor", "scatter",
]  # fmt: skip

F = TypeVar("F", bound="Callable[..., Any]")


def collective(function: F) -> F:
    """The function; a process that is not in the `group` it is given warns, and does nothing."""
    place = [*inspect.signature(function).parameters].index("group")

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if outside(args[place] if len(args) > place else kwargs.get("group")):
            warnings.warn(
                f"Running {function.__name__} on a process which does not belong to the given "
                "group. Nothing was done",
                stacklevel=2,
            )
            return None
        return function(*args, **kwargs)

    return called  # type: ignore[return-value]


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


@collective
def barrier(
    group: Any = None,
    async_op: bool = False,
    device_ids: Any = None,
    timeout: timedelta | None = None,
) -> Work | None:
    """Wait until all ranks are here, as long as the group's calls do, or for `timeout`.

    >>> rg.distributed.barrier()
    """
    world, seconds = joined(group).world, None if timeout is None else timeout.total_seconds()
    found = world.barrier("barrier", seconds=seconds, beside=async_op)
    return Work(found, ()) if async_op else None


def monitored_barrier(
    group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """`barrier` of which the first rank says who was too late: as every call here does.

    timeout: for this call; the group's by default. A rank that is too late breaks the group.

    >>> rg.distributed.monitored_barrier()
    """
    barrier(group, timeout=timeout)


@collective
def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Overwrite the tensor, of one shape and dtype on all ranks, by that of rank `src`.

    group_src: the same as a number in the group, instead. Raises ValueError for neither or both.

    >>> x = rg.tensor([1j, 2.0]); rg.distributed.broadcast(x, src=0); x
    tensor([0.+1.j, 2.+0.j])
    """
    world, src = joined(group).world, rank_of(group, src, group_src)
    start = partial(world.broadcast, f"broadcast from rank {src}", src, array_of(tensor))
    return begun(start, tensor, async_op)


@collective
def all_reduce(
    tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Overwrite the tensor, of one shape and dtype on all ranks, by the reduction of all of them.

    Raises ValueError for MIN and MAX of complex numbers, and for AVG of integers; TypeError for an
    `op` that is no ReduceOp.

    >>> x = rg.tensor([1j, 2.0]); rg.distributed.all_reduce(x, rg.distributed.ReduceOp.AVG); x
    tensor([0.+1.j, 2.+0.j])
    """
    world, array = joined(group).world, array_of(tensor)
    name = ufunc_of("all_reduce", array, op)
    start = partial(world.all_reduce, f"all_reduce {op.name}", array, name)
    return begun(start, tensor, async_op)


@collective
def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """As `all_reduce`, for rank `dst`; the tensors of the others stay as they are.

    group_dst: the same as a number in the group, instead.

    >>> x = rg.tensor([1.0, 2.0]); rg.distributed.reduce(x, dst=0); x
    tensor([1., 2.])
    """
    world, dst, array = joined(group).world, rank_of(group, dst, group_dst), array_of(tensor)
    name, here = ufunc_of("reduce", array, op), world.rank == dst
    start = partial(world.all_reduce, f"reduce {op.name} to rank {dst}", array, name, here)
    return begun(start, tensor, async_op, writes=here)


@collective
def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Fill the list's tensors, one for each rank, with the tensors of the ranks.

    All have one shape and dtype.

    >>> out = [rg.zeros(2)]; rg.distributed.all_gather(out, rg.ones(2)); out
    [tensor([1., 1.])]
    """
    world, array = joined(group).world, array_of(tensor)
    listed("tensor_list", tensor_list, world, array)
    return begun(partial(world.all_gather, "all_gather", array), tensor_list, async_op)


@collective
def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Fill one tensor with those of the ranks, one behind the other along dimension 0, or stacked.

    output_tensor: of shape (size * n, ...) or (size, n, ...) for an input of shape (n, ...), and of
    its dtype. Raises ValueError for another shape or dtype.

    >>> out = rg.zeros(2); rg.distributed.all_gather_into_tensor(out, rg.ones(2)); out
    tensor([1., 1.])
    """
    world, array, out = joined(group).world, array_of(input_tensor), array_of(output_tensor)
    rule = "output tensor size must be equal to world_size times input tensor size"
    check_fit(rule, out, array, world)
    start = partial(world.all_gather, "all_gather_into_tensor", array, out)
    return begun(start, output_tensor, async_op)


@collective
def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Fill the list of rank `dst`, one tensor for each rank, with the tensors of the ranks.

    dst: 0 by default; group_dst: the same as a number in the group, instead.
    Raises ValueError where the list is missing or wrong there, or given elsewhere.

    >>> out = [rg.zeros(2)]; rg.distributed.gather(rg.ones(2), out); out
    [tensor([1., 1.])]
    """
    world, array = joined(group).world, array_of(tensor)
    dst = rank_of(group, dst, group_dst, 0)
    places = listed("gather_list", gather_list, world, array, dst)
    return begun(partial(world.gather, f"gather to rank {dst}", dst, array), places, async_op)


@collective
def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Overwrite the tensor by this rank's one of the list of rank `src`.

    src: 0 by default; group_src: the same as a number in the group, instead.
    Raises ValueError where the list is missing or wrong there, or given elsewhere.

    >>> x = rg.zeros(2); rg.distributed.scatter(x, [rg.ones(2)]); x
    tensor([1., 1.])
    """
    world, array = joined(group).world, array_of(tensor)
    src = rank_of(group, src, group_src, 0)
    parts = [*map(array_of, listed("scatter_list", scatter_list, world, array, src))]
    start = partial(world.scatter, f"scatter from rank {src}", src, parts, array)
    return begun(start, tensor, async_op)


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
    listed("input_list", input_list, world, like)
    name, given = ufunc_of("reduce_scatter", like, op), [*map(array_of, input_list)]
    call = f"reduce_scatter {op.name}"
    start = partial(world.reduce_scatter, call, given, like.shape, name)
    return begun(start, output, async_op)


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
    rule = "input tensor must be the same size as output size times world size"
    check_fit(rule, array, out, world)
    name = ufunc_of("reduce_scatter_tensor", array, op)
    call = f"reduce_scatter_tensor {op.name}"
    start = partial(world.reduce_scatter, call, array, out.shape, name)
    return begun(start, output, async_op)


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
    parts = [*map(array_of, listed("input_tensor_list", input_tensor_list, world))]
    places = [*map(array_of, listed("output_tensor_list", output_tensor_list, world))]
    start = partial(world.all_to_all, "all_to_all", parts, places)
    return begun(start, output_tensor_list, async_op)


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
    start = partial(world.all_to_all, "all_to_all_single", parts, places)
    return begun(start, output, async_op)


def array_of(tensor: Any) -> Any:
    """A tensor's array; TypeError for what is none."""
    if not isinstance(tensor, Tensor):
        text = (
            f"Expected parameter `tensor` of type retrograd.Tensor but got {type(tensor)} instead."
        )
        raise TypeError(version.named(text))
    if is_traced(tensor._array):  # a replay would send nothing
        tensor._array.recording.stop("a tensor is sent to other processes")
    return tensor._array


def begun(start: Callable[..., Any], into: Any, asked: bool, writes: bool = True) -> Work | None:
    """Start what overwrites a tensor, or each of several; its work, where that is asked for."""
    found = start(then=partial(put, into) if writes else None, beside=asked)
    return Work(found, [into] if isinstance(into, Tensor) else into) if asked else None


def put(into: Any, found: Any) -> None:
    """Overwrite a tensor by what has come, or by the parts of that; or each of several."""
    if not isinstance(into, Tensor):
        for pair in zip(into, found, strict=True):
            put(*pair)
    elif found is into._array:
        wrote(into, "put")
    else:
        array = np.concatenate(found) if isinstance(found, list) else found
        with inference_mode():  # which may write to its own tensors, too
            into.copy_(new_tensor(array))


def listed(name: str, given: Any, world: World, like: Any = None, at: int | None = None) -> Any:
    """A list that has a value for each rank, as is checked; with `at`, at that rank alone.

    like: an array of the shape and dtype that its tensors have.
    """
    if at not in (None, world.rank):
        if given:
            raise ValueError(
                f"Argument `{name}` must NOT be specified on other ranks than {at}, this is rank "
                f"{world.rank}. Pass None"
            )
        return ()
    if given is None or len(given) != world.size:
        raise ValueError(
            f"Expected argument {name} to be a list of size {world.size}, one for each rank, got "
            f"{given if given is None else len(given)}"
        )
    for number, array in enumerate(map(array_of, () if like is None else given)):
        if (array.shape, array.dtype) != (like.shape, like.dtype):
            raise ValueError(
                f"invalid tensor at index {number} of {name}: expected shape {like.shape} and "
                f"dtype {like.dtype}, got {array.shape} and {array.dtype}"
            )
    return given


def check_fit(rule: str, whole: Any, part: Any, world: World) -> None:
    """Raise where an array does not hold one like `part` for each rank."""
    if whole.size != world.size * part.size or whole.dtype != part.dtype:
        raise ValueError(
            f"{rule}: one of shape {whole.shape} and dtype {whole.dtype} is not {world.size} of "
            f"shape {part.shape} and dtype {part.dtype}"
        )


def ufunc_of(call: str, array: Any, op: ReduceOp) -> str:
    """NumPy's name of a reduction that the dtype has."""
    if not isinstance(op, ReduceOp):
        raise TypeError(f"{call} takes an op such as ReduceOp.SUM, got {op!r}")
    lacks = {ReduceOp.AVG: "biu", ReduceOp.MIN: "c", ReduceOp.MAX: "c"}
    bits = dict.fromkeys((ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR), "fc")
    if array.dtype.kind in (lacks | bits).get(op, ""):
        kind = {"c": "complex", "f": "floating point"}.get(array.dtype.kind, "integer")
        raise ValueError(f"{call} does not support {op} on {kind} tensors")
    return op.value


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
