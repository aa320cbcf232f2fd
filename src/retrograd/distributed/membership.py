"""Who is in the group of processes: entering, leaving, ranks and names."""

from __future__ import annotations

import atexit
import os
from datetime import timedelta
from operator import index
from typing import Any
from urllib.parse import urlsplit

from .connections import World, meet
from .constants import default_pg_timeout

UNKNOWN = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)
_world: World | None = None


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


def destroy_process_group(group: Any = None) -> None:
    """Leave the group and close its connections; ValueError where there is none.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> rg.distributed.destroy_process_group()
    >>> rg.distributed.is_initialized()
    False
    """
    global _world
    world = joined(group)
    _world = None
    world.close()


def get_rank(group: Any = None) -> int:
    """The number of this process in the group; ValueError where there is no group.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> rg.distributed.get_rank()
    0
    >>> rg.distributed.destroy_process_group()
    """
    return joined(group).rank


def get_world_size(group: Any = None) -> int:
    """The number of processes in the group; ValueError where there is no group.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> rg.distributed.get_world_size()
    1
    >>> rg.distributed.destroy_process_group()
    """
    return joined(group).size


def get_backend(group: Any = None) -> str:
    """The name of what joins the processes, "gloo"; ValueError where there is no group.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> rg.distributed.get_backend()
    'gloo'
    >>> rg.distributed.destroy_process_group()
    """
    joined(group)
    return "gloo"


def joined(group: Any = None) -> World:
    """This process's side of the group, of which there is one."""
    if _world is None:
        raise ValueError(UNKNOWN)
    if group is not None and group is not THE_GROUP:
        raise ValueError(
            f"Invalid process group {group!r}: there is one, of all processes. Leave group out, or "
            "pass group.WORLD"
        )
    return _world
