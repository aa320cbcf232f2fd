"""Groups of some of the processes, that of all as an object, and names of what joins processes."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from . import membership
from .entry import backend_of, seconds_of
from .membership import GROUPS, NON_GROUP_MEMBER, ProcessGroup, get_process_group_ranks, joined

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

__all__ = [
    "Backend",
    "GroupMember",
    "group",
    "new_group",
    "new_subgroups",
]


class Backend(str):
    """The name of what joins processes, in small letters; "mpi" and "gloo" are here, and one.

    >>> rg.distributed.Backend("GLOO") == rg.distributed.Backend.GLOO
    True
    """

    __slots__ = ()

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"

    def __new__(cls, name: str) -> Backend:
        """The name in small letters; ValueError for what is no string."""
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish, got {name!r}")
        return super().__new__(cls, name.lower())


class World(type):
    """Gives a class the attribute WORLD: the group, while this process is in it, else None."""

    @property
    def WORLD(cls) -> membership.ProcessGroup | None:  # noqa: N802 (PyTorch's name)
        """The group of all processes, or None."""
        return membership.joined() if membership.is_initialized() else None


class group(metaclass=World):  # noqa: N801 (PyTorch's name)
    """Where groups are found: `group.WORLD`, and one that this process is not in."""

    NON_GROUP_MEMBER: Any = membership.NON_GROUP_MEMBER


GroupMember = group  # its older name


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: None = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of some ranks, all by default; where this process is not among them, a mark of that.

    All processes call it, in one order of groups; with `use_local_synchronization` its members
    alone may. timeout: as `init_process_group`. Raises ValueError without a group of all, for ranks
    that it does not have and for such as are named twice; RuntimeError for another backend.

    >>> pair = rg.distributed.new_group([0])
    >>> rg.distributed.get_process_group_ranks(pair)
    [0]
    """
    name = joined().name() if backend is None else backend_of(backend)
    world, seconds = joined().world, seconds_of(timeout)
    chosen = [*map(index, world.ranks if ranks is None else ranks)]
    chosen = sorted(chosen) if sort_ranks else chosen
    if not chosen or len({*chosen}) < len(chosen):
        raise ValueError(f"ranks list must not contain duplicate entries or be empty, got {chosen}")
    if wrong := {*chosen} - {*world.ranks}:
        raise ValueError(
            f"Rank {min(wrong)} is out of range. Valid ranks are 0 to {world.size - 1} "
            f"(world_size={world.size})"
        )
    if world.rank not in chosen:
        return NON_GROUP_MEMBER
    made = world.within(chosen, seconds)
    known = f"{GROUPS[0].group_name}/{'_'.join(map(str, chosen))}"
    GROUPS.append(ProcessGroup(made, known, group_desc or "undefined", name))
    return GROUPS[-1]


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: None = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of `group_size` neighbours among the ranks of a group: this process's, and all.

    Raises ValueError where the number of ranks is no multiple of `group_size`.

    >>> own, groups = rg.distributed.new_subgroups(1)
    >>> rg.distributed.get_world_size(own), len(groups)
    (1, 1)
    """
    ranks = get_process_group_ranks(group)
    size = len(ranks) if group_size is None else index(group_size)
    if size <= 0 or len(ranks) % size:
        raise ValueError(
            f"The world size must be divisible by group_size: {len(ranks)} ranks are no groups of "
            f"{size}"
        )
    parts = [ranks[start : start + size] for start in range(0, len(ranks), size)]
    made = [new_group(part, timeout, backend, group_desc=group_desc) for part in parts]
    return next((group for group in made if group != NON_GROUP_MEMBER), None), made
