"""The group of processes, and what they compute together: tensors are sent, gathered, reduced.

NOTE [Collectives]
1. All ranks call the same functions in the same order; a call returns when this rank's part is
   done. Tensors are written in place, without history, as in PyTorch.
2. A reduction adds in the order of ranks at one of them, which sends the result to all: every rank
   has the same bits. Complex numbers are added and multiplied as such, and have no order.
3. Objects other than tensors are not sent: that takes pickle, and who unpickles runs the sender's
   code. So there is no `all_gather_object` and no `broadcast_object_list`.
"""

from __future__ import annotations

import atexit
import os
from datetime import timedelta
from enum import Enum
from operator import index
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from ..autograd.grad_mode import inference_mode
from ..engine.tensor import Tensor, new_tensor
from ..quiet import quietly
from .connections import World, meet
from .constants import default_pg_timeout

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

UNKNOWN = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)
_world: World | None = None


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


def is_available() -> bool:
    """Whether this process works with others: it is in a group, or was started as one of several.

    Those are started with the variable WORLD_SIZE. PyTorch answers whether it is built with all of
    `torch.distributed`, and libraries then import meshes and sharded tensors, which are not here.

    >>> rg.distributed.is_available()
    False
    """
    return is_initialized() or "WORLD_SIZE" in os.environ


def is_gloo_available() -> bool:
    """Whether there is a backend called "gloo": always.

    >>> rg.distributed.is_gloo_available(), rg.distributed.is_nccl_available()
    (True, False)
    """
    return True


def is_nccl_available() -> bool:
    """Whether GPUs can be joined: never."""
    return False


def is_mpi_available() -> bool:
    """Whether processes can be joined by MPI: never."""
    return False


def is_ucc_available() -> bool:
    """Whether processes can be joined by UCC: never."""
    return False


def is_xccl_available() -> bool:
    """Whether XPUs can be joined: never."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether `torchrun` has started this process: never."""
    return False


def is_initialized() -> bool:
    """Whether this process is in a group.

    >>> rg.distributed.is_initialized()
    False
    """
    return _world is not None


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
) -> None:
    """Enter the group of `world_size` processes as number `rank`, once all of them have come.

    backend: "gloo", the only one; init_method: where rank 0 listens, "tcp://host:port", or "env://",
    the default, for the environment variables MASTER_ADDR and MASTER_PORT (and RANK, WORLD_SIZE
    where these are not given). timeout: how long any call may wait for other ranks, half an hour by
    default. A group of one opens no connection. Raises RuntimeError for another backend and where
    the ranks do not meet in time, ValueError for arguments that are missing or wrong, or where this
    process is in a group, TypeError for those of another type.

    >>> rg.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> rg.distributed.get_rank(), rg.distributed.get_world_size(), rg.distributed.get_backend()
    (0, 1, 'gloo')
    >>> rg.distributed.destroy_process_group()
    """
    global _world
    if _world is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if backend not in {None, "gloo", "cpu:gloo"}:
        raise RuntimeError(
            f"Distributed package doesn't have {backend!r} built in: processes are joined over "
            'TCP, on the cpu. Use init_process_group("gloo")'
        )
    method = "env://" if init_method is None else init_method
    place = urlsplit(method)
    if place.scheme not in {"env", "tcp"}:
        raise ValueError(f"no rendezvous {method!r}: init_method is env:// or tcp://host:port")
    env = place.scheme == "env"
    rank = _setting("rank", rank, env)
    size = _setting("world_size", world_size, env)
    if not 0 <= rank < size:
        raise ValueError(f"rank must be in [0, {size - 1}] for world_size={size}, got {rank}")
    wait = default_pg_timeout if timeout is None else timeout
    if not isinstance(wait, timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout!r}. Write "
            "timedelta(seconds=60)"
        )
    seconds = wait.total_seconds()
    if size == 1:
        _world = World(0, {}, seconds)
        return
    host = _variable("MASTER_ADDR") if env else place.hostname
    port = int(_variable("MASTER_PORT")) if env else place.port
    if not host or not port or not 0 < port < 1 << 16:
        raise ValueError(
            f"init_method {method!r} needs a host and a port from 1 to 65535, got {host!r} and "
            f"{port}: tcp://127.0.0.1:29500"
        )
    _world = meet(host, port, rank, size, seconds)


def _setting(name: str, given: int, env: bool) -> int:
    if index(given) >= 0:
        return index(given)
    if not env:
        raise ValueError(f"Error initializing: tcp:// rendezvous: {name} parameter missing")
    return int(_variable(name.upper()))


def _variable(name: str) -> str:
    if name not in os.environ:
        raise ValueError(
            f"Error initializing: env:// rendezvous: environment variable {name} expected, but not "
            "set. Set it, or give rank=, world_size= and init_method='tcp://host:port'"
        )
    return os.environ[name]


def _forked() -> None:
    if _world is not None:
        _world.forked()


def _exited() -> None:
    if _world is not None:
        _world.close()


atexit.register(_exited)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def destroy_process_group() -> None:
    """Leave the group and close its connections; ValueError where there is none.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> rg.distributed.destroy_process_group()
    >>> rg.distributed.is_initialized()
    False
    """
    global _world
    world = _default()
    _world = None
    world.close()


def get_rank() -> int:
    """The number of this process in the group; ValueError where there is no group.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> rg.distributed.get_rank()
    0
    >>> rg.distributed.destroy_process_group()
    """
    return _default().rank


def get_world_size() -> int:
    """The number of processes in the group; ValueError where there is no group.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> rg.distributed.get_world_size()
    1
    >>> rg.distributed.destroy_process_group()
    """
    return _default().size


def get_backend() -> str:
    """The name of what joins the processes, "gloo"; ValueError where there is no group.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> rg.distributed.get_backend()
    'gloo'
    >>> rg.distributed.destroy_process_group()
    """
    _default()
    return "gloo"


def barrier() -> None:
    """Wait until all ranks are here.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> rg.distributed.barrier()
    >>> rg.distributed.destroy_process_group()
    """
    _to_all("barrier", np.empty(0), "add")


def broadcast(tensor: Tensor, src: int) -> None:
    """Overwrite the tensor, of one shape and dtype on all ranks, by that of rank `src`.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> x = rg.tensor([1j, 2.0]); rg.distributed.broadcast(x, src=0); x
    tensor([0.+1.j, 2.+0.j])
    >>> rg.distributed.destroy_process_group()
    """
    src = _rank(src)
    _put(tensor, _spread(f"broadcast from rank {src}", src, _array(tensor)))


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM) -> None:
    """Overwrite the tensor, of one shape and dtype on all ranks, by the reduction of all of them.

    Raises ValueError for MIN and MAX of complex numbers, and for AVG of integers; TypeError for an
    `op` that is no ReduceOp.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> x = rg.tensor([1j, 2.0]); rg.distributed.all_reduce(x, rg.distributed.ReduceOp.AVG); x
    tensor([0.+1.j, 2.+0.j])
    >>> rg.distributed.destroy_process_group()
    """
    array = _array(tensor)
    name = _ufunc("all_reduce", array, op)
    _put(tensor, _to_all(f"all_reduce {op.name}", array, name))


def reduce(tensor: Tensor, dst: int, op: ReduceOp = ReduceOp.SUM) -> None:
    """As `all_reduce`, for rank `dst`; the tensors of the others stay as they are.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> x = rg.tensor([1.0, 2.0]); rg.distributed.reduce(x, dst=0); x
    tensor([1., 2.])
    >>> rg.distributed.destroy_process_group()
    """
    dst, array = _rank(dst), _array(tensor)
    name = _ufunc("reduce", array, op)
    found = _collect(f"reduce {op.name} to rank {dst}", dst, array)
    if found:
        _put(tensor, _reduced(found, name))


def all_gather(tensor_list: Sequence[Tensor], tensor: Tensor) -> None:
    """Fill the list's tensors, one for each rank, with the tensors of the ranks.

    All have one shape and dtype.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> out = [rg.zeros(2)]; rg.distributed.all_gather(out, rg.ones(2)); out
    [tensor([1., 1.])]
    >>> rg.distributed.destroy_process_group()
    """
    array = _array(tensor)
    _check("tensor_list", tensor_list, array)
    found = _collect("all_gather", 0, array)
    for number, out in enumerate(tensor_list):
        _put(out, _spread("all_gather", 0, found[number] if found else array))


def gather(tensor: Tensor, gather_list: Sequence[Tensor] | None = None, dst: int = 0) -> None:
    """Fill the list of rank `dst`, one tensor for each rank, with the tensors of the ranks.

    Raises ValueError where the list is missing or wrong there, or given elsewhere.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> out = [rg.zeros(2)]; rg.distributed.gather(rg.ones(2), out); out
    [tensor([1., 1.])]
    >>> rg.distributed.destroy_process_group()
    """
    dst, array = _rank(dst), _array(tensor)
    places = _check_at(dst, "gather_list", gather_list, array)
    for out, found in zip(places, _collect("gather", dst, array), strict=True):
        _put(out, found)


def scatter(tensor: Tensor, scatter_list: Sequence[Tensor] | None = None, src: int = 0) -> None:
    """Overwrite the tensor by this rank's one of the list of rank `src`.

    Raises ValueError where the list is missing or wrong there, or given elsewhere.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> x = rg.zeros(2); rg.distributed.scatter(x, [rg.ones(2)]); x
    tensor([1., 1.])
    >>> rg.distributed.destroy_process_group()
    """
    world, src, array = _default(), _rank(src), _array(tensor)
    parts = _check_at(src, "scatter_list", scatter_list, array)
    if world.rank != src:
        _put(tensor, world.receive(src, "scatter", array))
        return
    for rank in world.peers:
        world.send(rank, "scatter", _array(parts[rank]))
    _put(tensor, _array(parts[src]))


def send(tensor: Tensor, dst: int, tag: int = 0) -> None:
    """Send the tensor to rank `dst`, which calls `recv` with the same tag.

    Messages between two ranks come in the order in which they were sent.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> rg.distributed.send(rg.ones(2), dst=0)
    Traceback (most recent call last):
    ValueError: Invalid destination rank: it should not be the rank of the current process, 0
    >>> rg.distributed.destroy_process_group()
    """
    dst = _rank(dst)
    if get_rank() == dst:
        raise ValueError(
            f"Invalid destination rank: it should not be the rank of the current process, {dst}"
        )
    _default().send(dst, f"send, recv with tag {tag}", _array(tensor))


def recv(tensor: Tensor, src: int | None = None, tag: int = 0) -> int:
    """Overwrite the tensor by what rank `src` sends, or any rank; return the rank of the sender.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> rg.distributed.recv(rg.ones(2), src=0)
    Traceback (most recent call last):
    ValueError: Invalid source rank: it should not be the rank of the current process, 0
    >>> rg.distributed.destroy_process_group()
    """
    call, world = f"send, recv with tag {tag}", _default()
    src = None if src is None else _rank(src)
    if src == world.rank or world.size == 1:
        raise ValueError(
            f"Invalid source rank: it should not be the rank of the current process, {world.rank}"
        )
    array = _array(tensor)
    source = world.first_to_send(call) if src is None else src
    _put(tensor, world.receive(source, call, array))
    return source


def _default() -> World:
    if _world is None:
        raise ValueError(UNKNOWN)
    return _world


def _rank(rank: Any) -> int:
    if not 0 <= index(rank) < get_world_size():
        raise ValueError(
            f"invalid rank {rank}: the group has the ranks 0 to {get_world_size() - 1}"
        )
    return index(rank)


def _array(tensor: Any) -> Any:
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"Expected parameter `tensor` of type retrograd.Tensor but got {type(tensor)} instead."
        )
    return tensor._array


def _put(tensor: Tensor, array: Any) -> None:
    with inference_mode():  # which may write to its own tensors, too
        tensor.copy_(new_tensor(array))


def _check(name: str, tensors: Sequence[Tensor] | None, like: Any) -> Sequence[Tensor]:
    """The list, which has a tensor of one shape and dtype for each rank."""
    if tensors is None or len(tensors) != get_world_size():
        raise ValueError(
            f"Argument `{name}` must be specified here, with one tensor for each of "
            f"{get_world_size()} ranks"
        )
    for number, array in enumerate(map(_array, tensors)):
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
    world = _default()
    if world.rank != dst:
        world.send(dst, call, array)
        return []
    ranks = range(world.size)
    return [array if r == dst else world.receive(r, call, array) for r in ranks]


def _spread(call: str, src: int, array: Any) -> Any:
    """The array of `src`, on all ranks."""
    world = _default()
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
