"""Objects that are no tensors, sent between processes of a group.

They are pickled, and who unpickles runs what the sender says. So only processes of the group can
send any, and who is one has proved the key: NOTE [Meeting] in `engine/connections`, 2. Where others
than this user's processes reach the port, that key must be set, here above all.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np

from .collectives import collective, listed
from .membership import joined, rank_of
from .messages import other_rank

if TYPE_CHECKING:
    from .engine.progress import Steps
    from .engine.world import World

__all__ = [
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list",
    "scatter_object_list", "send_object_list",
]  # fmt: skip


@collective
def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Fill the list, which has a place for each rank, with the objects of the ranks.

    Objects are pickled: only join groups whose processes you trust. Raises ValueError for a list of
    another length.

    >>> out = [None]; rg.distributed.all_gather_object(out, {"a": 1}); out
    [{'a': 1}]
    """
    world, data = joined(group).world, pickle.dumps(obj)
    listed("object_list", object_list, world)
    found = world.texts("all_gather_object", [data] * world.size)
    object_list[:] = map(pickle.loads, found)


@collective
def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Fill the list of rank `dst`, 0 by default, with the objects of the ranks.

    Objects are pickled: only join groups whose processes you trust. Raises ValueError where the
    list is missing or of another length there, or given elsewhere.

    >>> out = [None]; rg.distributed.gather_object("a", out); out
    ['a']
    """
    world, data = joined(group).world, pickle.dumps(obj)
    dst = rank_of(group, dst, group_dst, 0)
    listed("object_gather_list", object_gather_list, world, at=dst)
    parts = [data if rank == dst else b"" for rank in world.ranks]
    found = world.texts(f"gather_object to rank {dst}", parts)
    if object_gather_list is not None and world.rank == dst:
        object_gather_list[:] = map(pickle.loads, found)


@collective
def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Overwrite the objects of the list, of one length on all ranks, by those of rank `src`.

    Objects are pickled: only join groups whose processes you trust.

    >>> out = ["a", 1]; rg.distributed.broadcast_object_list(out, src=0); out
    ['a', 1]
    """
    world = joined(group).world
    src = rank_of(group, src, group_src, 0)
    data = pickle.dumps(list(object_list)) if world.rank == src else b""
    call = f"broadcast_object_list from rank {src}"
    found = world.texts(call, [data] * world.size)
    if world.rank != src:
        _refill(object_list, pickle.loads(found[world.ranks.index(src)]), call, src)


@collective
def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Put this rank's one of the objects of rank `src`, 0 by default, into the list's first place.

    Objects are pickled: only join groups whose processes you trust. Raises ValueError for an empty
    output, and where the list of rank `src` has another length than the group.

    >>> out = [None]; rg.distributed.scatter_object_list(out, ["a"]); out
    ['a']
    """
    world = joined(group).world
    src = rank_of(group, src, group_src, 0)
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1. Pass "
            "[None]"
        )
    parts = [b""] * world.size
    if world.rank == src:
        given = listed("scatter_object_input_list", scatter_object_input_list, world)
        parts = [*map(pickle.dumps, given)]
    found = world.texts(f"scatter_object_list from rank {src}", parts)
    scatter_object_output_list[0] = pickle.loads(found[world.ranks.index(src)])


@collective
def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send the objects of a list to rank `dst`, which calls `recv_object_list`.

    Raises ValueError for this process itself.

    >>> rg.distributed.send_object_list(["a"], dst=0)
    Traceback (most recent call last):
    ValueError: Invalid destination rank: it should not be the rank of the current process, 0
    """
    world, dst = joined(group).world, other_rank("destination", group, dst, group_dst)
    data = np.array(memoryview(pickle.dumps(list(object_list))))
    world.send(dst, "send_object_list", np.array(data.size), data)


@collective
def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Overwrite the objects of a list, of the length sent, by those of rank `src`; return `src`.

    Objects are pickled: only join groups whose processes you trust. Raises ValueError for this
    process itself.

    >>> rg.distributed.recv_object_list([None], src=0)
    Traceback (most recent call last):
    ValueError: Invalid source rank: it should not be the rank of the current process, 0
    """
    world, call = joined(group).world, "send_object_list"
    if src is None and group_src is None and world.peers:
        src = world.first_to_send(call)
    src = other_rank("source", group, src, group_src)
    found = world.receive(src, call, _received(world, src, call))
    _refill(object_list, pickle.loads(found), call, src)
    return src


def _received(world: World, rank: int, call: str) -> Steps:
    """Bytes: first how many, then they."""
    length = yield from world.came(rank, call, np.zeros((), np.int64))
    return bytes((yield from world.came(rank, call, np.empty(int(length), np.uint8))))


def _refill(places: list[Any], found: list[Any], call: str, src: int) -> None:
    if len(places) != len(found):
        raise ValueError(
            f"{call}: rank {src} sends {len(found)} objects, and there are {len(places)} places. "
            "Give all ranks lists of one length"
        )
    places[:] = found
