"""Sockets: how the processes of a group meet, and the process at which they do.

NOTE [Meeting]
1. Rank 0 starts a process, the host, that listens at the group's address. Every rank has a line to
   it for as long as it lives. The host says who is there, passes on what a rank says to all others,
   and tells them when a line ends without goodbye: that rank died.
2. Both ends of a connection prove that they know the key in the environment variable
   RETROGRAD_DISTRIBUTED_KEY, empty by default, before anything else is read. Each connection has a
   thread of its own at the host, so strangers keep nobody waiting. Nothing is encrypted.
3. What goes over a line is JSON. MPI, where mpiexec has not started it, asks the host who is who:
   by PMI-1, the lines of text that MPICH and those made of it have spoken since 2000.
4. The host ends with the last line; it is not in the terminal's group, so Ctrl-C leaves it alone.

This module knows nothing of the package: the host runs it alone, as a file.
"""

from __future__ import annotations

import hmac
import itertools
import json
import os
import secrets
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["DistNetworkError", "meet", "reserved"]

KEY = "RETROGRAD_DISTRIBUTED_KEY"
LENGTH = struct.Struct("!I")
MOST = 1 << 20  # bytes of JSON
GREETING = 30.0  # seconds that a stranger may take to prove that it belongs here
PAUSE = 0.02  # seconds until the next try to reach a process that has not started yet


class DistNetworkError(RuntimeError):
    """A process of the group ended, was too late, or did what was not expected."""


# -- ranks -----------------------------------------------------------------------------------------


def meet(
    host: str,
    port: int,
    rank: int,
    size: int,
    timeout: float,
    announce: Callable[[int], Any] | None = None,
) -> tuple[socket.socket, int]:
    """This rank's line to the host, once all ranks have theirs, and the host's port.

    Rank 0, if its port is 0, listens at a free one, and announces it.
    """
    end, line = time.monotonic() + timeout, None
    try:
        if rank == 0:
            line, port = _host(host, port, size)
            if announce:
                announce(port)
        else:
            line = connect(host, port, end)
        write(line, [rank, size, node()])
        missing = {*range(size)} - {rank}
        while missing:
            try:
                line.settimeout(_left(end))
                found = read(line)
            except TimeoutError:
                raise TimeoutError(f"missing are the ranks {sorted(missing)}") from None
            if isinstance(found, str):
                raise ConnectionError(found)
            if isinstance(found, list):
                raise ConnectionError(f"rank {found[0]} has ended")
            if isinstance(found, dict):
                missing = {*range(size)}.difference(found["here"])
        line.settimeout(None)
    except BaseException as error:
        if line is not None:
            with suppress(OSError):
                write(line, ["bye"])  # it did not die: the others are still waiting for others
            line.close()
        if not isinstance(error, OSError):
            raise
        late = f", within {timeout} s" if isinstance(error, TimeoutError) else ""
        raise DistNetworkError(
            f"rank {rank} of {size} could not meet the others at {host}:{port}, the address of "
            f"rank 0{late}: {error}. Start all with one address, one world_size and one {KEY}"
        ) from error
    return line, port


def _host(host: str, port: int, size: int) -> tuple[socket.socket, int]:
    """Rank 0's line to a host that it starts, and where that listens."""
    ours, theirs = socket.socketpair()
    with theirs, listen(host, port, size) as server:
        command = [sys.executable, "-IS", __file__, *map(str, (server.fileno(), theirs.fileno()))]
        subprocess.run(
            [*command, str(size)],
            pass_fds=(server.fileno(), theirs.fileno()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            check=True,
        )
        return ours, server.getsockname()[1]


def node() -> str:
    """What processes that can share memory have in common."""
    place = os.stat("/dev/shm").st_dev if os.path.exists("/dev/shm") else ""
    return f"{socket.gethostname()} {place}"


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


# -- the host --------------------------------------------------------------------------------------


class Host:
    """The process at which ranks meet, and which watches them: NOTE [Meeting]."""

    def __init__(self, size: int) -> None:
        self.size, self.changed = size, threading.Condition()
        self.lines: dict[int, socket.socket] = {}
        self.nodes: dict[int, str] = {}
        self.dead: list[Any] = []  # what is said of them
        self.waiting, self.rounds = 0, 0  # at MPI's barrier
        self.held: dict[str, str] = {}
        self.name = f"retrograd_{secrets.token_hex(8)}"

    def serve(self, server: socket.socket, first: socket.socket) -> None:
        """Let ranks in, until all that came have left."""
        self._enter(first)
        for task in (partial(serve, server, self._answer), partial(self._line, first)):
            threading.Thread(target=task, daemon=True).start()
        with self.changed:
            self.changed.wait_for(lambda: not self.lines)
        for path in self._memory():
            path.unlink(missing_ok=True)

    def _answer(self, sock: socket.socket) -> None:
        """Talk with who has connected."""
        if self._enter(sock):
            self._line(sock)
        else:
            self._manage(sock)

    def _enter(self, sock: socket.socket) -> bool:
        """Whether who comes is a rank, which is then there; else it is MPI."""
        said = read(sock)
        sock.settimeout(None)
        if said == "PMI":
            return False
        rank, size, place = said
        with self.changed:
            if size != self.size or rank not in range(size) or rank in self.nodes:
                write(sock, f"there is no place for rank {rank} of {size} among {self.size}")
                raise ConnectionError
            self.lines[rank], self.nodes[rank] = sock, str(place)
            for told in self.dead:
                write(sock, told)
            self._tell({"here": sorted(self.nodes)})
        return True

    def _line(self, sock: socket.socket) -> None:
        """Pass on what a rank says, until it says goodbye or dies."""
        (rank,) = (number for number, line in self.lines.items() if line is sock)
        left = False
        with suppress(OSError, ValueError, TypeError, RecursionError):
            while not left:
                said = read(sock)
                left = said == ["bye"]
                if not left:
                    with self.changed:
                        self._tell([rank, *said], but=rank)
        with self.changed:
            del self.lines[rank]
            if not left:
                self.dead.append([rank, "died", "ended"])
                self._tell(self.dead[-1])
            self.changed.notify_all()

    def _tell(self, said: Any, but: int | None = None) -> None:
        for rank, line in self.lines.items():
            if rank != but:
                with suppress(OSError):
                    write(line, said)

    def _manage(self, sock: socket.socket) -> None:
        """Answer MPI: who is who, and when all are there."""
        with sock.makefile("rwb") as file:
            for line in file:
                said = dict(part.partition("=")[::2] for part in line.decode().split())
                file.write(f"cmd={self._reply(said)}\n".encode())
                file.flush()

    def _reply(self, said: dict[str, str]) -> str:
        command, key = said.get("cmd"), said.get("key", "")
        if command == "put":
            self.held[key] = said["value"]
        elif command == "barrier_in":
            self._barrier()
        found = self._mapping() if key == "PMI_process_mapping" else self.held.get(key)
        return {
            "init": "response_to_init pmi_version=1 pmi_subversion=1 rc=0",
            "get_maxes": "maxes kvsname_max=256 keylen_max=64 vallen_max=4096 rc=0",
            "get_appnum": "appnum appnum=0 rc=0",
            "get_my_kvsname": f"my_kvsname kvsname={self.name} rc=0",
            "get_universe_size": f"universe_size size={self.size} rc=0",
            "put": "put_result rc=0 msg=success",
            "get": f"get_result rc={0 if found else -1} msg=said value={found or 'unknown'}",
            "barrier_in": "barrier_out rc=0 msg=success",
            "finalize": "finalize_ack rc=0",
        }.get(command or "", f"{command}_result rc=-1 msg=unknown")

    def _barrier(self) -> None:
        with self.changed:
            self.waiting += 1
            now = self.rounds
            if self.waiting == self.size:
                self.waiting, self.rounds = 0, now + 1
                self.changed.notify_all()
            self.changed.wait_for(lambda: self.rounds > now)  # if one dies, for ever

    def _mapping(self) -> str:
        """Which ranks are on which machine: blocks of (machine, 1, ranks in a row)."""
        places = [self.nodes[rank] for rank in range(self.size)]
        numbers = {place: number for number, place in enumerate(dict.fromkeys(places))}
        rows = ((numbers[place], len([*row])) for place, row in itertools.groupby(places))
        return f"(vector,{','.join(f'({number},1,{count})' for number, count in rows)})"

    def _memory(self) -> list[Path]:
        """What ranks that were killed amid MPI's start have left: MPICH hashes our name, by FNV."""
        number = 0x811C9DC5
        for byte in self.name.encode():
            number = (number ^ byte) * 0x01000193 & 0xFFFFFFFF
        return [*Path("/dev/shm").glob(f"mpich_shm_{number:x}_*")]


# -- sockets ---------------------------------------------------------------------------------------


def listen(host: str, port: int, size: int) -> socket.socket:
    """A socket that listens."""
    return socket.create_server((host, port), family=_family(host), backlog=max(size, 128))


def serve(server: socket.socket, talk: Callable[[socket.socket], None]) -> None:
    """Let `talk` go on with each that connects and has the key, until the socket is closed."""
    with suppress(OSError):
        while True:
            sock, _ = server.accept()
            threading.Thread(target=_greeted, args=(sock, talk), daemon=True).start()


def _greeted(sock: socket.socket, talk: Callable[[socket.socket], None]) -> None:
    """Greet who has connected, and talk; what makes no sense ends the connection."""
    with sock, suppress(OSError, ValueError, TypeError, LookupError, RecursionError):
        sock.settimeout(GREETING)
        greet(sock, b"server", b"client")
        talk(sock)


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def connect(host: str, port: int, end: float) -> socket.socket:
    """A connection to a process that has the key, once it listens."""
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
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        greet(sock, b"client", b"server")
    except BaseException:
        sock.close()
        raise
    return sock


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("nobody listens there")
    return left


def greet(sock: socket.socket, own: bytes, other: bytes) -> None:
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


def write(sock: socket.socket, value: Any) -> None:
    """Send what JSON can say."""
    text = json.dumps(value).encode()
    sock.sendall(LENGTH.pack(len(text)) + text)


def read(sock: socket.socket) -> Any:
    """What the other end has sent."""
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


def main(server: str, first: str, size: str) -> None:
    """Be the host, in a process that nobody waits for."""
    if not os.fork():
        with socket.socket(fileno=int(server)) as listening:
            Host(int(size)).serve(listening, socket.socket(fileno=int(first)))


if __name__ == "__main__":
    main(*sys.argv[1:])
