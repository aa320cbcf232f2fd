"""How batches go from a worker process to the loader: memory that both share, and a pipe.

NOTE [Batches between processes]
1. What a batch is made of is pickled and goes through the pipe; bytes of arrays do not. They are
   written to memory without a name, whose descriptor goes with the message, and the loader maps it:
   the arrays of a batch lie in it, and it goes when they do. What has no name cannot be left over,
   whoever dies when.
2. Where there is no such memory or descriptors cannot be sent, it is a file in a folder of the
   loader's, which it deletes when mapped, and the folder when the workers stop.
3. A map keeps a descriptor open. Beyond `MAPS` of them, and at the limit of open files, bytes are
   copied instead.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import socket
import tempfile
import weakref
from contextlib import suppress
from itertools import accumulate
from typing import Any

import numpy as np

from ....engine.tensor import Tensor

__all__ = ["Channel", "Descriptors", "folder_for_batches", "packed"]

ALIGNED = 64
MAPS = 256
DESCRIPTORS = hasattr(os, "memfd_create") and hasattr(socket, "send_fds")

NO_LEAF = (
    "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not "
    "support crossing process boundaries. If you just want to transfer the data, call detach() on "
    "the tensor in the data set, or in collate_fn"
)
NO_ROOM = (
    "Too many open files. Communication with the workers is no longer possible. Please increase "
    "the limit using `ulimit -n` in the shell"
)

_maps: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()


def _laid(buffer: Any, dtype: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    return np.frombuffer(buffer, dtype).reshape(shape).transpose(axes)


class _Pickler(pickle.Pickler):
    """Leaves bytes of arrays of whatever layout and dtype to the buffers."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is np.ndarray and obj.nbytes and not obj.dtype.hasobject:
            order = sorted(range(obj.ndim), key=lambda axis: -abs(obj.strides[axis]))
            dense = np.ascontiguousarray(obj.transpose(order))
            data = pickle.PickleBuffer(dense.reshape(-1).view(np.uint8).data)
            shape = tuple(obj.shape[axis] for axis in order)
            return _laid, (data, obj.dtype, shape, tuple(np.argsort(order).tolist()))
        if isinstance(obj, Tensor) and obj.requires_grad and not obj.is_leaf:
            raise RuntimeError(NO_LEAF)
        return NotImplemented


def packed(value: Any) -> tuple[bytes, list[Any]]:
    """A pickled value, and the bytes of its arrays."""
    buffers: list[Any] = []
    file = io.BytesIO()
    _Pickler(file, 5, buffer_callback=buffers.append).dump(value)
    return file.getvalue(), [buffer.raw() for buffer in buffers]


def _places(sizes: list[int]) -> list[int]:
    """Where buffers of these sizes begin, and where the last ends."""
    return list(accumulate((-(-size // ALIGNED) * ALIGNED for size in sizes), initial=0))


def _write(descriptor: int, buffers: list[Any]) -> None:
    places = _places([len(buffer) for buffer in buffers])
    os.truncate(descriptor, places[-1])
    for place, buffer in zip(places, buffers, strict=False):
        done = 0
        os.lseek(descriptor, place, os.SEEK_SET)
        while done < len(buffer):
            done += os.write(descriptor, buffer[done:])


def _read(descriptor: int, sizes: list[int], mapped: bool = True) -> list[Any]:
    """The buffers in a file, mapped, or copied."""
    places = _places(sizes)
    whole = None
    if mapped and len(_maps) < MAPS:
        with suppress(OSError):  # too many open files
            shared = mmap.mmap(descriptor, places[-1])
            _maps.add(shared)
            whole = memoryview(shared)
    if whole is None:
        whole = memoryview(bytearray(places[-1]))
        with open(descriptor, "rb", buffering=0, closefd=False) as file:
            done = file.seek(0)
            while done < len(whole):
                done += file.readinto(whole[done:]) or len(whole)
    return [whole[place : place + size] for place, size in zip(places, sizes, strict=False)]


def folder_for_batches() -> str | None:
    """A new folder in memory for files, where no descriptors can be sent."""
    if DESCRIPTORS:
        return None
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return tempfile.mkdtemp(prefix="retrograd-", dir=place)


class Descriptors:
    """Descriptors of files beside a connection; `shut` ends it for whoever has copies, too."""

    def __init__(self, connection: Any) -> None:
        self.socket = socket.socket(fileno=os.dup(connection.fileno()))
        self.socket.setblocking(True)

    def send(self, descriptor: int) -> None:
        """Send it after a message."""
        socket.send_fds(self.socket, [b"+"], [descriptor])

    def receive(self) -> int:
        """The one after a message; EOFError if the sender is gone."""
        said, found, _, _ = socket.recv_fds(self.socket, 1, 1)
        if not said:
            raise EOFError
        if not found:
            raise RuntimeError(NO_ROOM)
        return found[0]

    def shut(self) -> None:
        """End the connection."""
        with suppress(OSError):  # the other end is gone
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Channel:
    """Messages with memory between two processes, over a connection."""

    def __init__(self, connection: Any, folder: str | None) -> None:
        self.connection, self.folder = connection, folder
        self.descriptors = None if folder else Descriptors(connection)
        self.end = None if os.name == "nt" else self.descriptors or Descriptors(connection)

    def send(self, label: Any, head: bytes, buffers: list[Any]) -> None:
        """Send a message that `packed` has prepared."""
        sizes = [len(buffer) for buffer in buffers]
        if not any(sizes):
            self.connection.send((label, sizes, None, head))
            return
        if self.descriptors:
            path, file = None, os.memfd_create("retrograd")
        else:
            file, path = tempfile.mkstemp(dir=self.folder)
        try:
            _write(file, buffers)
            self.connection.send((label, sizes, path, head))
            if self.descriptors:
                self.descriptors.send(file)
        finally:
            os.close(file)

    def receive(self) -> tuple[Any, bytes, list[Any]]:
        """A label, and what `packed` gave; EOFError if the sender is gone."""
        label, sizes, path, head = self.connection.recv()
        if not any(sizes):
            return label, head, [bytearray() for _ in sizes]
        file = self.descriptors.receive() if self.descriptors else os.open(path, os.O_RDWR)
        try:
            return label, head, _read(file, sizes, os.name != "nt")
        finally:
            os.close(file)
            if path:
                os.unlink(path)

    def leave(self) -> None:
        """Let go of this copy of the connection, in a fork of the process that it is of."""
        if self.end:
            self.end.socket.close()
        self.connection.close()

    def close(self) -> None:
        """End the connection."""
        if self.end:
            self.end.shut()
        self.connection.close()
