"""Messages from one process to another, at once or under way."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .collectives import array_of, collective, put
from .membership import joined, rank_of
from .work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...engine.tensor import Tensor

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


@collective
def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send the tensor to rank `dst`, which calls `recv` with the same tag.

    Messages between two ranks come in the order in which they were sent.

    >>> rg.distributed.send(rg.ones(2), dst=0)
    Traceback (most recent call last):
    ValueError: Invalid destination rank: it should not be the rank of the current process, 0
    """
    world, dst = joined(group).world, other_rank("destination", group, dst, group_dst)
    world.send(dst, f"send, recv with tag {tag}", array_of(tensor))


@collective
def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Overwrite the tensor by what rank `src` sends, or any rank; return the rank of the sender.

    >>> rg.distributed.recv(rg.ones(2), src=0)
    Traceback (most recent call last):
    ValueError: Invalid source rank: it should not be the rank of the current process, 0
    """
    call, world, array = f"send, recv with tag {tag}", joined(group).world, array_of(tensor)
    if src is None and group_src is None and world.peers:
        src = world.first_to_send(call)
    source = other_rank("source", group, src, group_src)
    world.receive(source, call, world.came(source, call, array), partial(put, tensor))
    return source


@collective
def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """As `send`, under way: the tensor may not be written before `wait()` of the result returns.

    Messages to one rank keep their order, whichever function sends them.

    >>> rg.distributed.isend(rg.ones(2), dst=0)
    Traceback (most recent call last):
    ValueError: Invalid destination rank: it should not be the rank of the current process, 0
    """
    world, array = joined(group).world, array_of(tensor)
    dst = other_rank("destination", group, dst, group_dst)
    sent = world.send(dst, f"send, recv with tag {tag}", array, beside=True)
    return Work(sent, [tensor])


@collective
def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """As `recv` from rank `src`, under way: the tensor is there when the result's `wait()` returns.

    Messages from one rank are received in the order of the calls.

    >>> rg.distributed.irecv(rg.ones(2), src=0)
    Traceback (most recent call last):
    ValueError: Invalid source rank: it should not be the rank of the current process, 0
    """
    call, world, array = f"send, recv with tag {tag}", joined(group).world, array_of(tensor)
    src = other_rank("source", group, src, group_src)
    steps = world.came(src, call, array)
    return Work(world.receive(src, call, steps, partial(put, tensor), beside=True), [tensor])


class P2POp:
    """A message for `batch_isend_irecv`: `isend` or `irecv`, its tensor, and the other rank.

    Raises ValueError for another function.

    >>> rg.distributed.P2POp(rg.distributed.send, rg.ones(2), 1)
    Traceback (most recent call last):
    ValueError: Invalid op: expected op to be of type distributed.isend or distributed.irecv
    """

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid op: expected op to be of type distributed.isend or distributed.irecv"
            )
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        self.peer = rank_of(group, peer, group_peer)


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Start the messages, and return the work of each in their order.

    Raises ValueError for an empty list, and for what is no P2POp in it.

    >>> rg.distributed.batch_isend_irecv([])
    Traceback (most recent call last):
    ValueError: Invalid `p2p_op_list`: expected a list of P2POp with at least one in it
    """
    if not p2p_op_list or not all(isinstance(each, P2POp) for each in p2p_op_list):
        raise ValueError("Invalid `p2p_op_list`: expected a list of P2POp with at least one in it")
    return [each.op(each.tensor, each.peer, each.group, each.tag) for each in p2p_op_list]


def other_rank(kind: str, group: Any, rank: Any, group_rank: Any) -> int:
    """A rank, or that of a number in the group, that is not this one."""
    own = joined(group).world.rank
    alone = rank is None and group_rank is None  # `recv` from anyone, where nobody else is
    found = own if alone else rank_of(group, rank, group_rank)
    if found == own:
        raise ValueError(
            f"Invalid {kind} rank: it should not be the rank of the current process, {own}"
        )
    return found
