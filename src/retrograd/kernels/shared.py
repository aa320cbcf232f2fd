"""Memory that several processes see: arrays in it, and descriptors by which it is handed over.

NOTE [Shared memory]
1. A block is a map of memory without a name. A fork has it as its parent has; any other process
   maps it anew, by a descriptor that is sent there. It is gone with the last who maps it, whoever
   dies when.
2. Small arrays lie in one block, one behind the other, for every block keeps descriptors open. A
   fork begins a block of its own, lest both give the same place away.
3. A process maps a block once: what it is sent twice is the same memory.

This module knows nothing of tensors.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from typing import Any

import numpy as np

from ..locks import new_lock
from .memory import address, memory, root, strided

SMALL = 1 << 20  # bytes of a block that several arrays lie in
ALIGNED = 64

_lock = new_lock()
_known: weakref.WeakValueDictionary[tuple[int, int], Block] = weakref.WeakValueDictionary()


class Block(mmap.mmap):
    """A map of memory that processes share, and the descriptor it is known by."""

    descriptor: int
    used: int
    owner: int


def _mapped(descriptor: int) -> Block:
    """The block behind a descriptor, which it keeps: rule 3 of NOTE [Shared memory]."""
    facts = os.fstat(descriptor)
    key = facts.st_dev, facts.st_ino
    with _lock:
        found = _known.get(key)
        if found is None:
            found = _known[key] = Block(descriptor, facts.st_size)
            found.descriptor, found.used, found.owner = descriptor, facts.st_size, 0
            weakref.finalize(found, os.close, descriptor)
        elif found.descriptor != descriptor:
            os.close(descriptor)
    return found


def _made(size: int) -> Block:
    """A new block, all zeros."""
    if os.name == "nt":
        raise RuntimeError(
            "share_memory_(): this system has no memory without a name. Use threads, or "
            "multiprocessing.shared_memory and retrograd.from_numpy"
        )
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("retrograd")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.truncate(descriptor, size)
    return _mapped(descriptor)


class _Current:
    """The block in which small arrays are being laid."""

    block: Block | None = None


def _room(size: int) -> Any:
    """New shared bytes, as a flat array on them."""
    size = max(size, 1)
    with _lock:
        block, start = _Current.block, 0
        if size > SMALL // 4:
            block = _made(size)
        else:
            if block is None or block.owner != os.getpid() or block.used + size > SMALL:
                block = _Current.block = _made(SMALL)
                block.used, block.owner = 0, os.getpid()
            start = block.used
            block.used += -(-size // ALIGNED) * ALIGNED
    return np.frombuffer(block, np.uint8, size, start)


def in_shared(owner: Any) -> Any:
    """All bytes of the memory that an array looks at, copied to shared memory, as a flat array."""
    held = memory(owner)
    room = _room(held.size)
    room[: held.size] = held
    return room[: held.size]


def block_of(array: Any) -> Block | None:
    """The block that a NumPy array lies in; None for one that is not shared."""
    link = root(array).base if isinstance(array, np.ndarray) else None
    block = link.obj if isinstance(link, memoryview) else None
    return block if isinstance(block, Block) else None


def place_of(array: Any) -> tuple[Any, ...]:
    """What `opened` needs to make a shared array again, beside the descriptor of its block."""
    whole, first = memory(array), np.frombuffer(block_of(array) or b"", np.uint8, 1)
    start, offset = address(whole) - address(first), address(array) - address(whole)
    return start, whole.size, array.dtype, array.shape, array.strides, offset


def opened(descriptor: int, place: tuple[Any, ...]) -> Any:
    """The array at `place_of` in the block behind a descriptor, which this owns from now on."""
    start, size, dtype, shape, strides, offset = place
    room = np.frombuffer(_mapped(descriptor), np.uint8, size, start)
    return strided(room, shape, strides, offset, dtype)
