"""Who is in which group of processes: leaving, ranks and names.

NOTE [Groups]
1. The group of all is made by `init_process_group`; others, of some of its ranks, by `new_group`,
   which all ranks of it call. Each has a communicator of its own, so that calls in one never wait
   for those in another.
2. Ranks that functions are given (`src`, `dst`) are numbers in the group of all; `group_src` and
   `group_dst` are those in the group at hand. A process that is not in a group has the
   number NON_GROUP_MEMBER for it; it warns, and does nothing.
"""

from __future__ import annotations

import atexit
import os
import sys
from importlib.util import find_spec
from operator import index
from typing import TYPE_CHECKING, Any

from .engine.mpi import end

if TYPE_CHECKING:
    from .engine.world import World

__all__ = [
    "ProcessGroup", "destroy_process_group", "get_backend", "get_global_rank", "get_group_rank",
    "get_node_local_rank", "get_process_group_ranks", "get_rank", "get_world_size",
    "is_available", "is_gloo_available", "is_initialized", "is_mpi_available",
    "is_nccl_available", "is_torchelastic_launched", "is_ucc_available", "is_xccl_available",
]  # fmt: skip

UNKNOWN = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)
NON_GROUP_MEMBER = -100  # the group of `new_group` where this process is not in it
GROUPS: list[ProcessGroup] = []  # those that this process is in; the first is that of all


class ProcessGroup:
    """Processes that work together: `group.WORLD` after `init_process_group`, or of `new_group`.

    >>> world = rg.distributed.group.WORLD
    >>> world.rank(), world.size(), world.name()
    (0, 1, 'gloo')
    """

    def __init__(self, world: World, name: str, desc: str, backend: str) -> None:
        self.world, self.group_name, self.group_desc = world, name, desc
        self._backend = backend

    def rank(self) -> int:
        """The number of this process in it."""
        return self.world.ranks.index(self.world.rank)

    def size(self) -> int:
        """The number of its processes."""
        return self.world.size

    def name(self) -> str:
        """The name of what joins them, "gloo" or "mpi"; both mean MPI."""
        return self._backend


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process on its machine, by the variable LOCAL_RANK of what started it.

    Raises RuntimeError where that is not set and no other number is given.

    >>> rg.distributed.get_node_local_rank(fallback_rank=0)
    0
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError(
            "LOCAL_RANK is not in the environment. Start the process by retrograd run -m "
            "torch.distributed.run, or pass fallback_rank"
        )
    return index(fallback_rank)


def is_available() -> bool:
    """Whether this process works with others: it is in a group, or was started as one of several.

    Those are started with the variable WORLD_SIZE. PyTorch answers whether it is built with all of
    `torch.distributed`, and libraries then import private modules of it, which are not here.

    >>> rg.distributed.is_available()
    True
    """
    return is_initialized() or "WORLD_SIZE" in os.environ


def is_gloo_available() -> bool:
    """Whether there is a backend called "gloo": always.

    >>> rg.distributed.is_gloo_available(), rg.distributed.is_nccl_available()
    (True, False)
    """
    return True


def is_mpi_available() -> bool:
    """Whether processes can be joined by MPI: where mpi4py is installed.

    >>> rg.distributed.is_mpi_available()
    True
    """
    return find_spec("mpi4py") is not None


def is_nccl_available() -> bool:
    """Whether processes can be joined by this library, of GPUs or XPUs: never."""
    return False


is_ucc_available = is_xccl_available = is_nccl_available


def is_torchelastic_launched() -> bool:
    """Whether `distributed.run`, which is PyTorch's `torchrun`, has started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_initialized() -> bool:
    """Whether this process is in a group.

    >>> rg.distributed.is_initialized()
    True
    """
    return bool(GROUPS)


@atexit.register
def _exited() -> None:
    for group in GROUPS:
        if not hasattr(sys, "last_value"):  # the program has not failed
            group.world.settle()
            group.world.close()
    end()


def destroy_process_group(group: Any = None) -> None:
    """Leave a group once what is under way in it is done; all groups by default.

    Raises ValueError where there is none.

    >>> rg.distributed.destroy_process_group()
    >>> rg.distributed.is_initialized()
    False
    """
    if outside(group):
        return
    leaving = joined(group)
    for left in GROUPS[:] if leaving is GROUPS[0] else [leaving]:
        left.world.settle()
        GROUPS.remove(left)
        left.world.close()


def get_rank(group: Any = None) -> int:
    """The number of this process in the group, -1 outside of it; ValueError if there is no group.

    >>> rg.distributed.get_rank()
    0
    """
    return -1 if outside(group) else joined(group).rank()


def get_world_size(group: Any = None) -> int:
    """The number of processes in the group, -1 outside of it; ValueError if there is no group.

    >>> rg.distributed.get_world_size()
    1
    """
    return -1 if outside(group) else joined(group).size()


def get_backend(group: Any = None) -> str:
    """The name of what joins the processes, "gloo" or "mpi"; ValueError where there is no group.

    >>> rg.distributed.get_backend()
    'gloo'
    """
    return joined(group).name()


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The ranks in a group, as numbers in the group of all.

    >>> rg.distributed.get_process_group_ranks(None)
    [0]
    """
    return [*joined(group).world.ranks]


def get_group_rank(group: Any, global_rank: int) -> int:
    """The number in a group of a rank of the group of all; ValueError if it is not in it.

    >>> rg.distributed.get_group_rank(rg.distributed.group.WORLD, 0)
    0
    """
    ranks = get_process_group_ranks(group)
    return ranks.index(rank_of(group, global_rank))


def get_global_rank(group: Any, group_rank: int) -> int:
    """The number in the group of all of a rank of a group; ValueError if the group has none such.

    >>> rg.distributed.get_global_rank(rg.distributed.group.WORLD, 0)
    0
    """
    return rank_of(group, None, group_rank)


_get_global_rank = get_global_rank  # its older name


def _get_default_group() -> ProcessGroup:
    """The group of all processes; ValueError where this process is in none."""
    return joined()


def joined(group: Any = None) -> ProcessGroup:
    """The group, if this process is in it; that of all by default."""
    if not GROUPS:
        raise ValueError(UNKNOWN)
    if group is None:
        return GROUPS[0]
    if group not in GROUPS:
        raise ValueError(
            f"Invalid process group specified: {group!r}. Pass what new_group returned to a "
            "process in it, group.WORLD, or nothing"
        )
    found: ProcessGroup = group
    return found


def outside(group: Any) -> bool:
    """Whether a group is one that this process is not in."""
    return isinstance(group, int) and group == NON_GROUP_MEMBER


_rank_not_in_group = outside  # its private name


def rank_of(group: Any, rank: Any, group_rank: Any = None, default: int | None = None) -> int:
    """The rank, one in the group of all or else one in this; ValueError if it is not in it."""
    if rank is None and group_rank is None:
        rank = default
    if (rank is None) == (group_rank is None):
        raise ValueError(
            "Must specify global_rank or group_rank, and can't specify both group_rank and "
            "global_rank: pass src= or group_src=, dst= or group_dst="
        )
    ranks = joined(group).world.ranks
    if group_rank is not None and 0 <= index(group_rank) < len(ranks):
        return ranks[index(group_rank)]
    if group_rank is not None or index(rank) not in ranks:
        kind, given = ("Global", rank) if group_rank is None else ("Group", group_rank)
        there = ranks if group_rank is None else range(len(ranks))
        raise ValueError(
            f"{kind} rank {given} is not part of group {group or 'WORLD'}: invalid rank, it "
            f"has the ranks {', '.join(map(str, there))}"
        )
    return index(rank)
