"""Connections between processes that work together: how they meet, and arrays sent as bytes.

NOTE [Connections]
1. Every two processes of a group share two TCP connections, one for collectives and one for
   messages, which so come whenever they are sent. All meet at its first rank, whose
   address is known; the others tell it where they listen, and connect to each other by the table
   that it sends. Ranks are numbers in the group of all, in every group.
2. What is sent is JSON (which call, dtype, shape) and the bytes of an array. Nothing is unpickled
   here; the calls that send objects do unpickle, and so trust their peers. Both sides prove that
   they know the key in the environment variable RETROGRAD_DISTRIBUTED_KEY, empty by default; bytes
   are not encrypted.
3. A receiver knows what must come. Anything else, a peer that ended, one that is too late, or an
   exception amid an array breaks the group: all peers are told why, all connections closed, and
   later calls raise the same.
4. One thread at a time sends to a peer, and one receives from it. What goes on beside the caller
   (`later`) has a thread for each of these; other calls then take their turn in it.
5. Collectives under way (`beside`) are done one after the other by one thread for each group, in
   the order of the calls; any other call of the group waits for those before it. Whoever leaves a
   group waits for them, too, unless it ends by an error.
6. A forked child has no part in the group: its copies of the connections are closed, so that peers
   notice when the parent ends.

This module knows arrays, not tensors.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import selectors
import socket
import struct
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

__all__ = ["DistNetworkError", "World", "meet", "meet_within", "reserved"]

KEY = "RETROGRAD_DISTRIBUTED_KEY"
LENGTH = struct.Struct("!I")
MOST = 1 << 20  # bytes of JSON
GREETING = 5.0  # seconds that a stranger may take to prove that it belongs here
PAUSE = 0.02  # seconds until the next try to reach a process that has not started yet


class DistNetworkError(RuntimeError):
    """A process of the group ended, was too late, or sent what was not expected."""


class Fate:
    """What becomes of all connections of a group: why they broke, if they did."""

    def __init__(self, sockets: list[socket.socket]) -> None:
        self.broken, self.sockets = "", sockets


class World:
    """All processes of a group, as one of them sees them, by one connection to each."""

    def __init__(
        self, rank: int, ranks: Sequence[int], peers: dict[int, socket.socket], timeout: float
    ) -> None:
        self.rank, self.ranks, self.timeout = rank, tuple(ranks), timeout
        self.size, self.peers, self.fate = len(self.ranks), peers, Fate([*peers.values()])
        self._turns: Turns | None = None
        self._locks = {(peer, sends): threading.Lock() for peer in peers for sends in (True, False)}
        self._queues: dict[tuple[int, bool], Turns] = {}
        self._wait(timeout)
        for sock in peers.values():
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @contextmanager
    def waiting(self, timeout: float | None) -> Iterator[None]:
        """Wait for others that long within this context; as ever for None."""
        before = self.timeout
        if timeout is not None:
            self._wait(timeout)
        try:
            yield
        finally:
            if timeout is not None and not self.fate.broken:
                self._wait(before)

    def _wait(self, timeout: float) -> None:
        self.timeout = timeout
        for sock in self.peers.values():
            sock.settimeout(timeout)

    def share_fate(self, other: World) -> None:
        """Break, and be closed, with other connections of the group."""
        other.fate.sockets += self.fate.sockets
        self.fate = other.fate

    def beside(self, task: Callable[[], Any]) -> Future[Any]:
        """Do a task beside the caller, after those before it; at once within such a task."""
        self._check()
        if self._turns is None:
            self._turns = Turns()
        return self._turns.submit(task)

    def settle(self) -> None:
        """Wait for what is under way."""
        if self._turns is not None:
            self._turns.settle()

    def send(self, rank: int, call: str, array: Any) -> None:
        """Send an array to a rank that expects it from `call`."""
        self._in_turn(rank, True, self.send_now, call, array)

    def receive(self, rank: int, call: str, like: Any) -> Any:
        """The array, of the shape and dtype of `like`, that a rank sends in the same call."""
        return self._in_turn(rank, False, self.receive_now, call, like)

    def later(self, rank: int, sends: bool, task: Callable[..., Any], *args: Any) -> Future[Any]:
        """Do `task(rank, *args)` beside the caller, after what is under way in that direction."""
        self._check()
        self.settle()
        if (rank, sends) not in self._queues:
            self._queues[rank, sends] = Turns()
        return self._queues[rank, sends].submit(task, rank, *args)

    def _in_turn(self, rank: int, sends: bool, task: Callable[..., Any], *args: Any) -> Any:
        self._check()
        self.settle()
        if (rank, sends) in self._queues:
            return self.later(rank, sends, task, *args).result()
        return task(rank, *args)

    def send_now(self, rank: int, call: str, array: Any) -> None:
        """`send`, in this thread."""
        head, data = [call, array.dtype.name, list(array.shape)], np.ascontiguousarray(array)
        with self._reaching(rank, call, sends=True) as sock:
            try:
                _write(sock, head)
                sock.sendall(_bytes(data))
            except ConnectionError:  # closed by the peer, that may have said why
                self._head(sock)
                raise

    def receive_now(self, rank: int, call: str, like: Any) -> Any:
        """`receive`, in this thread."""
        found = np.empty(like.shape, like.dtype)
        with self._reaching(rank, call) as sock:
            theirs, dtype, shape = self._head(sock)
            if theirs != call:
                self.fail(f"rank {rank} calls {theirs} where rank {self.rank} calls {call}")
            if (dtype, shape) != (like.dtype.name, list(like.shape)):
                self.fail(
                    f"{call}: rank {rank} has a tensor of shape {tuple(shape)} and dtype {dtype}, "
                    f"rank {self.rank} one of shape {like.shape} and dtype {like.dtype.name}; give "
                    "all ranks tensors of one shape and dtype"
                )
            _fill(sock, _bytes(found))
        return found

    def first_to_send(self, call: str) -> int:
        """The lowest rank of which something has come, once there is one; some may have ended."""
        self._check()
        with selectors.DefaultSelector() as waiting:
            for rank, sock in self.peers.items():
                waiting.register(sock, selectors.EVENT_READ, rank)
            while waiting.get_map():
                ready: set[int] = {key.data for key, _ in waiting.select(self.timeout)}
                if not ready:
                    self.fail(f"Timed out after {self.timeout} s: no rank has sent for {call}")
                for rank in sorted(ready):
                    if _has_sent(self.peers[rank]):
                        return rank
                    waiting.unregister(self.peers[rank])
        self.fail(f"Connection closed by peer: all other ranks ended before {call} was complete")

    def fail(self, why: str, silent: int | None = None) -> NoReturn:
        """Break the group, and raise."""
        self._break(why, silent)
        raise DistNetworkError(self.fate.broken)

    def _break(self, why: str, silent: int | None) -> None:
        """Tell all ranks why, and close the connections; nothing goes through that to `silent`."""
        if self.fate.broken:
            return
        self.fate.broken = why
        for sock in self.fate.sockets:
            with suppress(OSError):
                sock.settimeout(0)
                if silent is None or sock is not self.peers[silent]:
                    _write(sock, why)
        self.close()

    def close(self) -> None:
        """Close all connections of the group."""
        for queue in (*self._queues.values(), self._turns):
            if queue is not None:
                queue.end()
        for sock in self.fate.sockets:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)  # wakes threads that wait for it
            sock.close()

    def forked(self) -> None:
        """Leave the group to the parent of this process: NOTE [Connections], 6."""
        self._turns = None  # its thread is the parent's
        self.fate.broken = (
            f"a process that was forked from rank {self.rank} is not in its group. Start processes "
            "with the method 'spawn', and let each call init_process_group"
        )
        for sock in self.fate.sockets:
            sock.close()

    def _check(self) -> None:
        if self.fate.broken:
            raise DistNetworkError(self.fate.broken)

    def _head(self, sock: socket.socket) -> Any:
        head = _read(sock)
        if isinstance(head, str):
            self.fail(head)
        return head

    @contextmanager
    def _reaching(self, rank: int, call: str, *, sends: bool = False) -> Iterator[socket.socket]:
        """The connection to a rank; what goes wrong with it breaks the group.

        A rank to which this one `sends` is not told: it may wait for the rest of an array.
        """
        silent = rank if sends else None
        self._check()
        with self._locks[rank, sends]:
            self._check()
            try:
                yield self.peers[rank]
            except TimeoutError:
                self.fail(
                    f"Timed out after {self.timeout} s: rank {rank} did not take part in {call}",
                    silent,
                )
            except OSError:
                self.fail(
                    f"Connection closed by peer: rank {rank} ended before {call} on rank "
                    f"{self.rank} was complete",
                    silent,
                )
            except BaseException as error:
                self._break(f"{type(error).__name__} in {call} on rank {self.rank}", silent)
                raise


def meet(
    host: str,
    port: int,
    rank: int,
    ranks: Sequence[int],
    timeout: float,
    announce: Callable[[int], Any] | None = None,
) -> World:
    """Connect this process with all others; `host` and `port` are where the first rank listens.

    The first rank, if its port is 0, listens at a free one, and announces it.
    """
    peers: dict[int, socket.socket] = {}
    first, *others = ranks
    end, size = time.monotonic() + timeout, len(ranks)
    try:
        if rank == first:
            with _listen(host, port, size) as server:
                if announce:
                    announce(server.getsockname()[1])
                places = _accept(server, peers, {*others}, size, end)
            for sock in peers.values():
                _write(sock, places)
        else:
            peers[first] = _connect(host, port, end)
            with _listen(peers[first].getsockname()[0], 0, size) as server:
                _write(peers[first], [rank, size, server.getsockname()[1]])
                places = {int(key): place for key, place in _read(peers[first]).items()}
                own = others.index(rank)
                for other in others[:own]:
                    peers[other] = _connect(*places[other], end)
                    _write(peers[other], [rank, size, 0])
                _accept(server, peers, {*others[own + 1 :]}, size, end)
    except BaseException as error:
        for sock in peers.values():
            sock.close()
        if not isinstance(error, OSError):
            raise
        late = isinstance(error, TimeoutError)
        raise DistNetworkError(
            f"rank {rank} of {size} could not meet the others at {host}:{port}"
            f"{f' within {timeout} s' if late else ''}: {error}. Start all ranks with one address, "
            f"one world_size and one {KEY}"
        ) from error
    return World(rank, ranks, peers, timeout)


def meet_within(world: World, ranks: Sequence[int], timeout: float) -> World:
    """Connect some ranks of a world, this one among them, by new connections; all of them call."""
    first, *others = ranks
    call, number = f"new_group {[*ranks]}", np.zeros((), np.int64)
    if not others:
        return World(first, ranks, {}, timeout)
    if world.rank != first:
        host = world.peers[first].getpeername()[0]
        port = int(world.receive(first, call, number))
        return meet(host, port, world.rank, ranks, timeout)

    def announce(port: int) -> None:
        for rank in others:
            world.send(rank, call, number + port)

    return meet(world.peers[others[0]].getsockname()[0], 0, first, ranks, timeout, announce)


@contextmanager
def reserved(host: str) -> Iterator[int]:
    """A free port, which on Linux nobody else is given within this context.

    There, a socket may listen where another one is bound that does not. Other systems refuse that,
    so the port is let go of before.
    """
    with socket.socket(_family(host)) as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind((host, 0))
        port: int = held.getsockname()[1]
        if not sys.platform.startswith("linux"):
            held.close()
        yield port


def _listen(host: str, port: int, size: int) -> socket.socket:
    return socket.create_server((host, port), family=_family(host), backlog=size)


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _accept(
    server: socket.socket, peers: dict[int, socket.socket], missing: set[int], size: int, end: float
) -> dict[int, tuple[str, int]]:
    """Let the missing ranks in, and say where each listens. Strangers are turned away."""
    places = {}
    while missing:
        try:
            server.settimeout(_left(end))
            sock, (host, *_) = server.accept()
        except TimeoutError:
            raise TimeoutError(f"missing are the ranks {sorted(missing)}") from None
        try:
            sock.settimeout(min(GREETING, _left(end)))
            _greet(sock, b"server", b"client")
            rank, theirs, port = map(int, _read(sock))
        except (OSError, ValueError, TypeError, RecursionError):  # whatever JSON it may send
            sock.close()
            continue
        if theirs != size or rank not in missing:
            sock.close()
            raise ConnectionError(f"a process came as rank {rank} of {theirs}")
        sock.settimeout(_left(end))
        missing.remove(rank)
        peers[rank], places[rank] = sock, (host, port)
    return places


def _connect(host: str, port: int, end: float) -> socket.socket:
    while True:
        try:
            sock = socket.create_connection((host, port), _left(end))
        except ConnectionRefusedError:
            time.sleep(min(PAUSE, _left(end)))
            continue
        if sock.getsockname() != sock.getpeername():
            break
        sock.close()  # nobody listens: the system chose that very port for this end, too
    try:
        _greet(sock, b"client", b"server")
    except BaseException:
        sock.close()
        raise
    return sock


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("nobody listens there")
    return left


def _greet(sock: socket.socket, own: bytes, other: bytes) -> None:
    """Prove the key to each other, without sending it; ConnectionError where it is not one."""
    key, challenge, theirs = (
        os.environ.get(KEY, "").encode(),
        secrets.token_bytes(32),
        bytearray(32),
    )
    sock.sendall(challenge)
    _fill(sock, memoryview(theirs))
    sock.sendall(hmac.digest(key, own + theirs, "sha256"))
    _fill(sock, memoryview(theirs))
    if not hmac.compare_digest(theirs, hmac.digest(key, other + challenge, "sha256")):
        raise ConnectionError("the peer has another key")


def _has_sent(sock: socket.socket) -> bool:
    with suppress(OSError):
        return bool(sock.recv(1, socket.MSG_PEEK))
    return False


def _bytes(array: Any) -> memoryview:
    return memoryview(array.reshape(-1).view(np.uint8))


def _write(sock: socket.socket, value: Any) -> None:
    text = json.dumps(value).encode()
    sock.sendall(LENGTH.pack(len(text)) + text)


def _read(sock: socket.socket) -> Any:
    size = bytearray(LENGTH.size)
    _fill(sock, memoryview(size))
    (length,) = LENGTH.unpack(size)
    if length > MOST:
        raise ConnectionError("the peer speaks another protocol")
    text = bytearray(length)
    _fill(sock, memoryview(text))
    return json.loads(text)


def _fill(sock: socket.socket, memory: memoryview) -> None:
    while memory:
        count = sock.recv_into(memory)
        if not count:
            raise ConnectionResetError("the peer has closed the connection")
        memory = memory[count:]
