"""MPI between the processes of a group, by mpi4py: how it is started, what it moves, how it ends.

NOTE [MPI]
1. mpi4py and an MPI come with `pip install retrograd[distributed]`, or from the cluster. They are
   loaded by the first group of more than one process.
2. Under mpiexec, or srun, MPI knows who is who. Processes that were started otherwise meet at the
   address of rank 0 first, whose host tells MPICH: NOTE [Meeting] in `connections`.
3. MPI starts once in a process. A group of all that is made after the first was left has the same
   processes; each group has a communicator of its own.
4. What waits within MPI cannot be interrupted, and when a rank dies it waits for ever, or ends the
   process. So `MPI_Init` and `MPI_Comm_create_group` run in threads, by which nobody waits.
5. `MPI_Finalize` waits for all processes, so it is called under mpiexec alone, which takes its
   absence for a failure, and when all are known to be there and nothing has failed. Otherwise the
   end of the process is the end. What MPICH shares in memory is no file from its start on.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from ctypes import CDLL, byref, c_int
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....locks import load
from .connections import DistNetworkError, connect, meet, node, write
from .progress import apart
from .watch import Watch
from .world import World

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from .progress import Request

__all__ = ["MPITransport", "end", "launched", "start"]

NEEDED = (
    "several processes are joined by MPI, and mpi4py or an MPI library is missing: {error}. "
    "Install both with: pip install retrograd[distributed]"
)
ONCE = (
    "MPI starts once in a process, and this one is rank {rank} of {size} there: it cannot be rank "
    "{other} of {count}. Let another process join that group; if MPI is not made of MPICH, start "
    "all by mpiexec"
)
FORKED = (
    "MPI has started in the parent of this forked process, and cannot be used here. Start "
    "processes with the method 'spawn'"
)
STUCK = (
    "MPI did not start in this process, as another rank ended, and cannot be started again. Start "
    "new processes"
)
PMI = ("PMI_FD", "PMI_RANK", "PMI_SIZE")
OPS = {
    "add": "SUM",
    "mean": "SUM",
    "multiply": "PROD",
    "minimum": "MIN",
    "maximum": "MAX",
    "bitwise_and": "BAND",
    "bitwise_or": "BOR",
    "bitwise_xor": "BXOR",
}
PARTING = 10.0  # seconds that ranks wait for each other at the end, under mpiexec


class MPITransport:
    """Transfers between the processes of one group, by their numbers in it; none of them waits.

    All arrays are contiguous, and stay as they are until the transfer is done. Every process starts
    the same ones in the same order, but for `send`, `receive` and `probe`.
    """

    def __init__(self, mpi: Any, communicator: Any) -> None:
        self.mpi, self.comm = mpi, communicator

    def reduces(self, dtype: Any, name: str) -> bool:
        """Whether reductions know a dtype and NumPy's name of a ufunc.

        All but bfloat16; NaN counts in NumPy's minimum, in MPI's it depends.
        """
        if name in {"minimum", "maximum"}:
            return dtype.kind in "biu"
        return dtype.kind in "biufc" and (name == "add" or dtype.kind != "b") and name != "multiply"

    def all_reduce(self, array: Any, name: str) -> Request:
        """Overwrite an array by the reduction of all."""
        data, op = self._reduced(array, name)
        return _test(self.comm.Iallreduce(self.mpi.IN_PLACE, data, op))

    def broadcast(self, array: Any, source: int) -> Request:
        """Overwrite an array by that of `source`."""
        return _test(self.comm.Ibcast(self._bytes(array), source))

    def all_gather(self, array: Any, out: Any) -> Request:
        """Fill `out`, as large as they are together, with the arrays of all."""
        return _test(self.comm.Iallgather(self._bytes(array), self._bytes(out)))

    def fill(self, array: Any, counts: Sequence[int]) -> Request:
        """Complete an array of which each process has so many elements, one behind the other."""
        data, kind = self._bytes(array)
        sizes = [count * array.itemsize for count in counts]
        return _test(self.comm.Iallgatherv(self.mpi.IN_PLACE, [data, sizes, None, kind]))

    def reduce_scatter(self, parts: Any, out: Any, name: str) -> Request:
        """Overwrite `out` by the reduction of what all have for this one: `parts`, (size, ...)."""
        (data, op), (place, _) = self._reduced(parts, name), self._reduced(out, name)
        return _test(self.comm.Ireduce_scatter_block(data, place, op))

    def all_to_all(self, parts: Sequence[Any], places: Sequence[Any]) -> Request:
        """Send each other process its array, and fill the places by what they send."""
        own, tag = self.comm.rank, 3
        requests = [
            self.comm.Irecv(self._bytes(place), other, tag)
            for other, place in enumerate(places)
            if other != own and place.size
        ]
        requests += [
            self.comm.Isend(self._bytes(part), other, tag)
            for other, part in enumerate(parts)
            if other != own and part.size
        ]
        return lambda: bool(self.mpi.Request.Testall(requests))

    def send(self, array: Any, to: int, tag: int) -> Request:
        """Send an array to one that receives it with the same tag."""
        return _test(self.comm.Isend(self._bytes(array), to, tag))

    def receive(self, array: Any, source: int, tag: int) -> Request:
        """Fill an array with what `source` sends."""
        return _test(self.comm.Irecv(self._bytes(array), source, tag))

    def probe(self, tag: int) -> int | None:
        """One that has sent something with that tag, if there is any."""
        status = self.mpi.Status()
        found = self.comm.Iprobe(self.mpi.ANY_SOURCE, tag, status)
        return status.source if found else None

    def split(self, numbers: Sequence[int]) -> MPITransport:
        """A communicator of some of the processes, all of which are here."""
        group = self.comm.Get_group().Incl([*numbers])
        return MPITransport(self.mpi, self.comm.Create_group(group))

    def close(self) -> None:
        """Free the communicator."""
        self.comm.Free()

    def _bytes(self, array: Any) -> Any:
        return [array.reshape(-1).view(np.uint8), self.mpi.BYTE]

    def _reduced(self, array: Any, name: str) -> tuple[Any, Any]:
        """What MPI reduces, and how: booleans as bytes, of which the sum is the largest."""
        if array.dtype.kind == "b":
            array = array.view(np.uint8)
            name = {"add": "maximum"}.get(name, name)
        return array, getattr(self.mpi, OPS[name])


def _test(request: Any) -> Request:
    test: Request = request.Test
    return test


# -- the group of all ------------------------------------------------------------------------------


class Started:
    """MPI as it runs in this process, and the line to the host."""

    def __init__(self, mpi: Any, watch: Watch, *, launched: bool) -> None:
        self.mpi, self.watch, self.launched = mpi, watch, launched
        self.comm, self.pid, self.groups = mpi.COMM_WORLD, os.getpid(), 0

    def world(self, timeout: float) -> World:
        """A group of all."""
        self.groups += 1
        name = f"{self.groups}"
        whole = self._world(self.comm, timeout, f"before {name}")
        communicator = whole.do("init_process_group", self._another(whole))
        _unlink()
        return self._world(communicator, timeout, name)

    def _world(self, comm: Any, timeout: float, name: str) -> World:
        transport = MPITransport(self.mpi, comm)
        return World(comm.rank, range(comm.size), transport, timeout, name, self.watch)

    def _another(self, whole: World) -> Any:
        yield from whole.agreed("init_process_group", np.empty(0))
        communicator, request = self.comm.Idup()
        yield request.Test
        return communicator

    def end(self) -> None:
        """Say goodbye, or by what this process ends; under mpiexec, end MPI if all is well."""
        error = getattr(sys, "last_value", None)
        if error is not None:
            self.watch.say("died", f"ended by {type(error).__name__}: {error}"[:400])
        elif self.launched and self._together():
            self.mpi.Finalize()
        self.watch.close("bye")

    def _together(self) -> bool:
        """Whether all ranks end now, and well."""
        last = self._world(self.comm, PARTING, "the end")
        with suppress(DistNetworkError):
            last.barrier("the end")
            return True
        return False


_started: list[Started] = []
_stuck: list[Watch] = []  # the line of a process in which MPI has not started stays open


def launched() -> tuple[int, int] | None:
    """Rank and size, where mpiexec or srun has started this process as one of several."""
    env = os.environ
    if {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"}.isdisjoint(env) and not _started:
        return None
    comm = _load().COMM_WORLD
    return comm.rank, comm.size


def start(
    place: tuple[str, int] | None,
    rank: int,
    size: int,
    timeout: float,
    announce: Callable[[int], Any] | None = None,
) -> World:
    """The group of all, once all are there; `place` is where plain processes meet."""
    if not _started and launched():
        mpi = _load()
        _started.append(Started(mpi, Watch(_line(mpi.COMM_WORLD, mpi, timeout)), launched=True))
    elif not _started:
        _package(initialize=False)
        if _stuck:
            raise RuntimeError(STUCK)
        host, port = place or ("", 0)
        end = time.monotonic() + timeout
        line, port = meet(host, port, rank, size, timeout, announce)
        _stuck.append(Watch(line))
        mpi = _by_host(host, port, World(rank, range(size), None, timeout, "MPI", _stuck[0]), end)
        _started.append(Started(mpi, _stuck.pop(), launched=False))
    comm = _started[0].comm
    if _started[0].pid != os.getpid():
        raise RuntimeError(FORKED)
    if (rank, size) != (comm.rank, comm.size):
        raise RuntimeError(ONCE.format(rank=comm.rank, size=comm.size, other=rank, count=size))
    return _started[0].world(timeout)


def end() -> None:
    """What is to be done when the process ends, unless it is a forked child."""
    _unlink()
    for started in _started:
        if started.pid == os.getpid():
            started.end()


def _forked() -> None:
    for started in _started:
        started.watch.line.close()  # so that others notice when the parent ends


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _by_host(host: str, port: int, world: World, end: float) -> Any:
    """MPI, which learns from the host who is who."""
    sock = connect(host, port, end)
    sock.settimeout(None)
    write(sock, "PMI")
    told = sock.detach(), world.rank, world.size
    os.environ.update(zip(PMI, map(str, told), strict=True))
    try:
        mpi = _load(initialize=False)
        start = partial(CDLL(mpi.__file__).MPI_Init_thread, None, None, mpi.THREAD_MULTIPLE)
        world.do("init_process_group", apart(partial(start, byref(c_int()))))
    finally:
        for name in PMI:
            del os.environ[name]
    for communicator in (mpi.COMM_SELF, mpi.COMM_WORLD):
        communicator.Set_errhandler(mpi.ERRORS_RETURN)
    return mpi


def _line(comm: Any, mpi: Any, timeout: float) -> socket.socket:
    """A line to a host that rank 0 starts, of which it tells by MPI."""
    ranks, said = range(comm.size), np.zeros(1024, np.uint8)
    world = World(comm.rank, ranks, MPITransport(mpi, comm), timeout, "place")

    def tell(port: int) -> None:
        text = json.dumps([node(), os.uname().nodename, port]).encode()
        said[: len(text)] = memoryview(text)
        world.broadcast("start", 0, said)

    if comm.rank == 0:
        return meet("", 0, 0, comm.size, timeout, tell)[0]
    world.broadcast("start", 0, said)
    machine, name, port = json.loads(bytes(said).rstrip(b"\0"))
    host = "127.0.0.1" if machine == node() else name
    return meet(host, port, comm.rank, comm.size, timeout)[0]


def _package(initialize: bool) -> Any:
    try:
        package = load("mpi4py")
    except ImportError as error:
        raise RuntimeError(NEEDED.format(error=error)) from error
    package.rc.thread_level, package.rc.finalize = "multiple", False
    package.rc.initialize = initialize
    os.environ.setdefault("UCX_LOG_FILE", "stderr")  # where what a killed rank leads to is told
    return package


def _load(initialize: bool = True) -> Any:
    """The module of MPI, which starts with its import, unless that is left to the caller."""
    _package(initialize)
    try:
        return load("mpi4py.MPI")
    except (ImportError, RuntimeError) as error:
        raise RuntimeError(NEEDED.format(error=error)) from error


def _unlink() -> None:
    """Take the names from memory that MPICH shares, which all of its processes have by now."""
    with suppress(OSError), open("/proc/self/maps") as maps:
        for path in {line.split()[-1] for line in maps if "/dev/shm/mpich_" in line}:
            with suppress(OSError):
                os.unlink(path)
