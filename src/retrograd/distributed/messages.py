"""Messages from one process to another, at once or under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .collectives import array_of, put, rank_of
from .membership import get_rank, joined
from .work import Work

if TYPE_CHECKING:
    from ..engine.tensor import Tensor

__all__ = ["irecv", "isend", "recv", "send"]


def send(tensor: Tensor, dst: int, group: Any = None, tag: int = 0) -> None:
    """Send the tensor to rank `dst`, which calls `recv` with the same tag.

    Messages between two ranks come in the order in which they were sent.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> rg.distributed.send(rg.ones(2), dst=0)
    Traceback (most recent call last):
    ValueError: Invalid destination rank: it should not be the rank of the current process, 0
    >>> rg.distributed.destroy_process_group()
    """
    world, dst = joined(group), _other("destination", dst)
    world.send(dst, f"send, recv with tag {tag}", array_of(tensor))


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0) -> int:
    """Overwrite the tensor by what rank `src` sends, or any rank; return the rank of the sender.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> rg.distributed.recv(rg.ones(2), src=0)
    Traceback (most recent call last):
    ValueError: Invalid source rank: it should not be the rank of the current process, 0
    >>> rg.distributed.destroy_process_group()
    """
    call, world = f"send, recv with tag {tag}", joined(group)
    if src is not None or world.size == 1:
        src = _other("source", src or 0)
    array = array_of(tensor)
    source = world.first_to_send(call) if src is None else src
    put(tensor, world.receive(source, call, array))
    return source


def isend(tensor: Tensor, dst: int, group: Any = None, tag: int = 0) -> Work:
    """As `send`, under way: the tensor may not be written before `wait()` of the result returns.

    Messages to one rank keep their order, whichever function sends them.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> rg.distributed.isend(rg.ones(2), dst=0)
    Traceback (most recent call last):
    ValueError: Invalid destination rank: it should not be the rank of the current process, 0
    >>> rg.distributed.destroy_process_group()
    """
    world, dst, array = joined(group), _other("destination", dst), array_of(tensor)
    return Work(world.later(dst, True, world.send_now, f"send, recv with tag {tag}", array))


def irecv(tensor: Tensor, src: int, group: Any = None, tag: int = 0) -> Work:
    """As `recv` from rank `src`, under way: the tensor is there when the result's `wait()` returns.

    Messages from one rank are received in the order of the calls.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> rg.distributed.irecv(rg.ones(2), src=0)
    Traceback (most recent call last):
    ValueError: Invalid source rank: it should not be the rank of the current process, 0
    >>> rg.distributed.destroy_process_group()
    """
    world, src, array = joined(group), _other("source", src), array_of(tensor)

    def receive(rank: int, call: str) -> None:
        put(tensor, world.receive_now(rank, call, array))

    return Work(world.later(src, False, receive, f"send, recv with tag {tag}"))


def _other(kind: str, rank: Any) -> int:
    """A rank that is not this one."""
    if get_rank() == rank_of(rank):
        raise ValueError(
            f"Invalid {kind} rank: it should not be the rank of the current process, {rank}"
        )
    return rank_of(rank)
