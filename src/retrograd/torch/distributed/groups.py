"""Entering groups: that of all processes and those of some, and names of what joins them."""

from __future__ import annotations

import os
from datetime import timedelta
from operator import index
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from .constants import default_pg_timeout
from .engine.mpi import launched, start
from .engine.world import World
from .membership import (
    GROUPS,
    NON_GROUP_MEMBER,
    ProcessGroup,
    get_process_group_ranks,
    is_initialized,
    joined,
)
from .stores import FileStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .stores import Store

__all__ = [
    "Backend", "GroupMember", "group", "init_process_group", "new_group", "new_subgroups",
]  # fmt: skip

STARTING = 120.0  # seconds that processes may take to meet and to start MPI, at least


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


class Found(type):
    """Gives a class the attribute WORLD: the group, while this process is in it, else None."""

    @property
    def WORLD(cls) -> ProcessGroup | None:  # noqa: N802 (PyTorch's name)
        """The group of all processes, or None."""
        return joined() if is_initialized() else None


class group(metaclass=Found):  # noqa: N801 (PyTorch's name)
    """Where groups are found: `group.WORLD`, and one that this process is not in."""

    NON_GROUP_MEMBER: Any = NON_GROUP_MEMBER


GroupMember = group  # its older name


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: None = None,
    device_id: Any = None,
) -> None:
    """Enter the group of `world_size` processes as number `rank`, once all of them have come.

    backend: "mpi", or "gloo", the default, which means the same; init_method: where rank 0 listens,
    "tcp://host:port", or "env://", the default, for the environment variables MASTER_ADDR and
    MASTER_PORT (and RANK, WORLD_SIZE where these are not given), or "file:///path", for a file that
    processes of one machine share; store: that through which rank 0 says where it listens, instead.
    Processes that mpiexec or srun has started need none of these. timeout: how long any call may
    wait for other ranks, half an hour by default; this one waits two minutes at least, as starting
    takes long on a busy machine. A group of one needs no MPI. Raises RuntimeError for another
    backend, without MPI and where the ranks do not meet in time, ValueError for arguments that are
    missing or wrong, or where this process is in a group, TypeError for those of another type.

    >>> rg.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> rg.distributed.get_rank(), rg.distributed.get_world_size(), rg.distributed.get_backend()
    (0, 1, 'gloo')
    >>> rg.distributed.destroy_process_group()
    """
    if GROUPS:
        raise ValueError("trying to initialize the default process group twice!")
    name = _backend_of(backend)
    if store is not None and init_method is not None:
        raise ValueError("Cannot specify both init_method and store.")
    method = "env://" if init_method is None else init_method
    place = urlsplit(method)
    if place.scheme not in {"env", "tcp", "file"}:
        raise ValueError(
            f"no rendezvous {method!r}: init_method is env://, tcp://host:port or file:///path"
        )
    env = place.scheme == "env" and store is None
    known = launched() if env and {rank, world_size} == {-1} and "RANK" not in os.environ else None
    rank, size = known or (_setting("rank", rank, env), _setting("world_size", world_size, env))
    if not 0 <= rank < size:
        raise ValueError(f"rank must be in [0, {size - 1}] for world_size={size}, got {rank}")
    seconds = _seconds_of(timeout)
    limit = max(seconds, STARTING)
    if size == 1:
        world = World(0, [0], None, limit)
    elif known:
        world = start(None, rank, size, limit)
    elif store is not None or place.scheme == "file":
        world = _start_through(store or FileStore(place.path, size), rank, size, limit)
    else:
        host = _variable("MASTER_ADDR") if env else place.hostname
        port = int(_variable("MASTER_PORT")) if env else place.port
        if not host or not port or not 0 < port < 1 << 16:
            raise ValueError(
                f"init_method {method!r} needs a host and a port from 1 to 65535, got {host!r} and "
                f"{port}: tcp://127.0.0.1:29500"
            )
        world = start((host, port), rank, size, limit)
    world.timeout = seconds
    GROUPS.append(ProcessGroup(world, group_name or "0", "default_pg", name))


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
    name = joined().name() if backend is None else _backend_of(backend)
    world, seconds = joined().world, _seconds_of(timeout)
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


def _backend_of(backend: str | None) -> str:
    """The name of what joins processes; RuntimeError for what cannot."""
    if backend not in {None, "gloo", "cpu:gloo", "mpi"}:
        raise RuntimeError(
            f"Distributed package doesn't have {backend!r} built in: processes are joined by MPI, "
            'on the cpu. Use init_process_group("gloo"), or "mpi", which means the same'
        )
    return "mpi" if backend == "mpi" else "gloo"


def _seconds_of(timeout: timedelta | None) -> float:
    """How long calls may wait; TypeError for what is no timedelta."""
    wait = default_pg_timeout if timeout is None else timeout
    if not isinstance(wait, timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout!r}. Write "
            "timedelta(seconds=60)"
        )
    return wait.total_seconds()


def _start_through(store: Store, rank: int, size: int, seconds: float) -> World:
    """Enter the group whose first rank says by a store where it listens."""
    key, port = "retrograd/port", 0
    store.set_timeout(timedelta(seconds=seconds))
    if rank:
        port = int(store.get(key))
    return start((store.host, port), rank, size, seconds, lambda port: store.set(key, str(port)))


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
