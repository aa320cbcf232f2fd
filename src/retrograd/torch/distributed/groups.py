"""The group of all processes as an object, and the names of what joins processes."""

from __future__ import annotations

from typing import Any

from . import membership

__all__ = ["Backend", "GroupMember", "group"]


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
    """Where the group is found: `group.WORLD`."""


class GroupMember(metaclass=World):
    """The same by its older name; `NON_GROUP_MEMBER` is a group that this process is not in."""

    NON_GROUP_MEMBER: Any = membership.NON_GROUP_MEMBER
