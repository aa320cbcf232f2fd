"""The group of all processes as an object, and the names of what joins processes."""

from __future__ import annotations

from typing import Any

from .collectives import get_backend, get_rank, get_world_size, is_initialized

__all__ = ["Backend", "GroupMember", "ProcessGroup", "group"]


class Backend(str):
    """The name of what joins processes, in small letters; "gloo" is the one that is here.

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


class ProcessGroup:
    """The group of all processes, which `group.WORLD` is after `init_process_group`.

    >>> rg.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> world = rg.distributed.group.WORLD
    >>> world.rank(), world.size(), world.name()
    (0, 1, 'gloo')
    >>> rg.distributed.destroy_process_group()
    """

    def rank(self) -> int:
        """The number of this process in it."""
        return get_rank()

    def size(self) -> int:
        """The number of its processes."""
        return get_world_size()

    def name(self) -> str:
        """The name of what joins them."""
        return get_backend()


THE_GROUP = ProcessGroup()


class World(type):
    """Gives a class the attribute WORLD: the group, while this process is in it, else None."""

    @property
    def WORLD(cls) -> ProcessGroup | None:  # noqa: N802 (PyTorch's name)
        """The group of all processes, or None."""
        return THE_GROUP if is_initialized() else None


class group(metaclass=World):  # noqa: N801 (PyTorch's name)
    """Where the group is found: `group.WORLD`."""


class GroupMember(metaclass=World):
    """The same by its older name; `NON_GROUP_MEMBER` stands for no group."""

    NON_GROUP_MEMBER: Any = -100
