"""Stores of bytes by keys that processes share: in a file, over TCP.

NOTE [Stores]
1. All are one set of operations on a dictionary; a store says where it lies, and who else waits
   while one is done. What travels and what is in files is JSON, with a character for each byte.
2. Who connects to a TCPStore proves the key first: NOTE [Meeting] in `engine/connections`, 2.
3. `get` and `wait` ask again until the keys are there.
"""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from ...locks import load
from .engine import connections

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

__all__ = ["DistStoreError", "FileStore", "PrefixStore", "Store", "TCPStore"]


class DistStoreError(RuntimeError):
    """A key did not appear in a store in time."""


def _set(held: dict[str, str], keys: list[str], value: str) -> None:
    held[keys[0]] = value


def _add(held: dict[str, str], keys: list[str], amount: int) -> int:
    held[keys[0]] = str(int(held.get(keys[0], "0")) + amount)
    return int(held[keys[0]])


def _append(held: dict[str, str], keys: list[str], value: str) -> None:
    held[keys[0]] = held.get(keys[0], "") + value


OPERATIONS: dict[str, Any] = {
    "set": _set,
    "add": _add,
    "append": _append,
    "get": lambda held, keys: [held.get(key) for key in keys],
    "delete": lambda held, keys: held.pop(keys[0], None) is not None,
    "count": lambda held, keys: len(held),
}


class Store:
    """What all stores do; keys are strings, values bytes, or strings that stand for theirs."""

    host = "127.0.0.1"  # where processes that share the store meet

    def __init__(self) -> None:
        self._timeout = timedelta(seconds=300)

    def _do(self, operation: str, keys: list[str], *values: Any) -> Any:
        """Do one of OPERATIONS while nobody else does."""
        raise NotImplementedError(f"{type(self).__name__} holds nothing: make a TCPStore()")

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait; five minutes by default."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Let `get` and `wait` wait that long."""
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Put a value at a key, over what is there."""
        self._do("set", [key], _text(value))

    def get(self, key: str) -> bytes:
        """The value at a key, once there is one; DistStoreError after `timeout`."""
        self.wait([key])
        return str(self._do("get", [key])[0]).encode("latin-1")

    def add(self, key: str, amount: int) -> int:
        """Add to the number at a key, 0 where there is none, and return the sum."""
        return int(self._do("add", [key], amount))

    def append(self, key: str, value: str | bytes) -> None:
        """Put a value behind that at a key."""
        self._do("append", [key], _text(value))

    def check(self, keys: Sequence[str]) -> bool:
        """Whether there is a value at each key."""
        return None not in self._do("get", [*keys])

    def delete_key(self, key: str) -> bool:
        """Forget a key; whether it was there."""
        return bool(self._do("delete", [key]))

    def num_keys(self) -> int:
        """How many keys there are."""
        return int(self._do("count", []))

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Return once there is a value at each key; DistStoreError if that takes too long."""
        limit = self._timeout if timeout is None else timeout
        end = time.monotonic() + limit.total_seconds()
        while not self.check(keys):
            if time.monotonic() > end:
                raise DistStoreError(
                    f"wait timeout after {limit.total_seconds() * 1000:g}ms, keys: "
                    f"{', '.join(keys)}. Let another process set them, or wait longer: "
                    "set_timeout(timedelta(minutes=10))"
                )
            time.sleep(connections.PAUSE)


class FileStore(Store):
    """A store in a file, which processes of one machine share; for systems with `fcntl`.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "store")
    >>> rg.distributed.FileStore(path, 2).set("a", b"1")
    >>> rg.distributed.FileStore(path, 2).get("a")
    b'1'
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = os.fspath(file_name)

    def _do(self, operation: str, keys: list[str], *values: Any) -> Any:
        fcntl = load("fcntl")
        with open(self.path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            before = file.read()
            held = json.loads(before or b"{}")
            found = OPERATIONS[operation](held, keys, *values)
            after = json.dumps(held).encode()
            if after != before:
                file.truncate(0)
                file.write(after)
        return found


class PrefixStore(Store):
    """The keys of a store that start with `prefix` and a slash.

    >>> store = rg.distributed.TCPStore("127.0.0.1", 0, 1, is_master=True)
    >>> rg.distributed.PrefixStore("net", store).set("a", "1"); store.get("net/a")
    b'1'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self.prefix, self.underlying_store = prefix, store
        self.host, self._timeout = store.host, store.timeout

    def _do(self, operation: str, keys: list[str], *values: Any) -> Any:
        return self.underlying_store._do(
            operation, [f"{self.prefix}/{key}" for key in keys], *values
        )


class TCPStore(Store):
    """A store in the process that is the master, which others reach over TCP.

    host_name, port: where the master listens; at port 0, at a free one, which is `port` then.
    world_size: with `wait_for_workers`, how many processes, the master among them, there must be
    before one returns. Raises DistNetworkError where they do not meet within `timeout`.

    >>> store = rg.distributed.TCPStore("127.0.0.1", 0, 1, is_master=True)
    >>> store.set("a", "1"); store.get("a")
    b'1'
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = timedelta(seconds=300),
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        self._timeout, self.host, self._lock = timeout, host_name, threading.Lock()
        self._server: socket.socket | None = None
        end = time.monotonic() + timeout.total_seconds()
        try:
            if is_master:
                self._server = connections.listen(host_name, port, world_size or 8)
                port = self._server.getsockname()[1]
                task = self._server, partial(_answer, {}, threading.Lock())
                threading.Thread(target=connections.serve, args=task, daemon=True).start()
            self.port = port
            self._sock = connections.connect(host_name, port, end)
        except OSError as error:
            raise connections.DistNetworkError(
                f"no store at {host_name}:{port} within {timeout}: {error}. Start the process with "
                "is_master=True"
            ) from error
        if world_size and wait_for_workers:
            joined = self.add("retrograd/workers", 1)
            while joined < world_size:
                if time.monotonic() > end:
                    raise connections.DistNetworkError(
                        f"Timed out after {timeout} waiting for clients: {joined}/{world_size} "
                        "joined"
                    )
                time.sleep(connections.PAUSE)
                joined = self.add("retrograd/workers", 0)

    def _do(self, operation: str, keys: list[str], *values: Any) -> Any:
        with self._lock:
            try:
                connections.write(self._sock, [operation, keys, *values])
                return connections.read(self._sock)
            except BaseException as error:
                self._sock.close()  # lest the answer to this comes as that to another
                if not isinstance(error, OSError):
                    raise
                raise connections.DistNetworkError(
                    f"{operation} of {', '.join(keys)}: the store at {self.host}:{self.port} does "
                    f"not answer: {error}. It takes requests of {connections.MOST} bytes, and adds "
                    "to integers"
                ) from error

    def __del__(self) -> None:
        for sock in (getattr(self, "_sock", None), getattr(self, "_server", None)):
            if sock is not None:
                with suppress(OSError):
                    sock.shutdown(2)  # wakes the thread that waits for it
                sock.close()


def _answer(held: dict[str, str], lock: threading.Lock, sock: socket.socket) -> None:
    """Do the operations that one process asks for."""
    sock.settimeout(None)
    while True:
        operation, keys, *values = connections.read(sock)
        with lock:
            found = OPERATIONS[operation](held, keys, *values)
        connections.write(sock, found)


def _text(value: str | bytes) -> str:
    return (value.encode() if isinstance(value, str) else bytes(value)).decode("latin-1")
