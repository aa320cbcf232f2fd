"""PyTorch's format before archives: pickles one after the other, and then the storages.

Magic number, version and a description of the machine; the object; the keys of its storages; for
each of these the number of its elements, 64 bits, and its bytes, both little-endian.
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .archive import Allowance
from .files import CUT, exactly, fill
from .rebuilding import Block, Kind, Rebuilding, numpy_dtype, width
from .unpickler import Blind, Inert, failed, told

if TYPE_CHECKING:
    from .pickler import Kept, Pickler
    from .unpickler import Lookup

__all__ = ["Legacy", "legacy_parts"]

MAGIC = 0x1950A86A20F9469CFC6C
VERSION = 1001
MACHINE = {
    "protocol_version": VERSION,
    "little_endian": True,
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}
NOT_OURS = (
    "Invalid magic number; corrupt file? It begins with {begins!r}, as no file of PyTorch's or of "
    "this package does."
)


class NotOursError(pickle.UnpicklingError, RuntimeError):
    """A file is of no format that is known; PyTorch raises the one type or the other, by bytes."""


class Legacy(Rebuilding):
    """What the names of a file stand for, and its storages, whose bytes come last."""

    def __init__(self, place: Callable[[Any, str], Any], size: int) -> None:
        super().__init__(self.room, place, Allowance(size))
        self.left = size  # no more room is made than the file has bytes

    def room(self, name: str, size: int) -> Any:
        """New memory for a storage of a file."""
        self.left -= size
        if self.left < 0:
            raise RuntimeError(CUT.format(has=self.left + size, needs=size))
        return np.empty(size, np.uint8)

    def persistent(self, key: Any) -> Any:
        """The storage that a file refers to, or a part of one."""
        if is_module(key):
            return key[1]
        dtype, block = self.block(key)
        part = key[5] if len(key) > 5 else None
        if part is None:
            return self.show(block, dtype)
        _, offset, count = part
        begin, end = (number * width(dtype) for number in (offset, offset + count))
        if not 0 <= begin <= end <= block.memory.size:
            raise failed(f"a part of a storage reaches beyond it: {told(part)}")
        return self.show(
            Block(block.memory[begin:end], dtype, swapped=False, away=block.away), dtype
        )

    def load(self, file: Any, data: Callable[[Lookup], Any], unpickle: Callable[[], Any]) -> Any:
        """What a file holds. `data` reads a pickle of Python's data, `unpickle` any.

        The object's pickle is read twice: for its storages, which are then filled, and, now that
        tensors have their values, for what it makes of them.
        """
        begins = file.read(8)
        file.seek(-len(begins), io.SEEK_CUR)
        try:
            magic = data(self)
        except (pickle.UnpicklingError, RuntimeError):
            magic = None
        if magic.__class__ is not int or magic != MAGIC:
            raise NotOursError(NOT_OURS.format(begins=bytes(begins)))
        version, _ = data(self), data(self)
        if version != VERSION:
            raise RuntimeError(f"Invalid protocol version: {told(version)}; expected {VERSION}")
        begin = file.tell()
        data(Storages(self))
        self.fill_storages(file, data(self))
        end = file.tell()
        file.seek(begin)
        found = unpickle()
        file.seek(end)
        return found

    def fill_storages(self, file: Any, keys: Any) -> None:
        """Read the bytes of all storages."""
        texts = keys.__class__ is list and all(key.__class__ is str for key in keys)
        if not texts or {*keys} != {*self.blocks} or len({*keys}) < len(keys):
            raise RuntimeError("the file's storages are not those that its tensors use")
        for key in keys:
            storage = self.blocks[key]
            (count,) = struct.unpack("<q", exactly(file, 8))
            size = storage.memory.size
            if count < 0 or (size % count if count else size):
                raise RuntimeError(f"the storage {key!r} has another size than its tensors say")
            fill(file, storage.memory)
            if sys.byteorder == "big" and storage.dtype is not None:
                storage.swapped = True
                storage.of(numpy_dtype(storage.dtype))


class Storages(Blind):
    """Makes room for the storages to which a pickle refers."""

    def __init__(self, file: Legacy) -> None:
        self.file = file

    def find(self, module: str, name: str) -> Any:
        """A class of storages, or what stands for all else."""
        found = self.file.known(f"{module}.{name}")
        return found if isinstance(found, Kind) else Inert

    def persistent(self, key: Any) -> Any:
        """Look at the size of a storage, for which an inert object stands."""
        if not is_module(key):
            self.file.block(key)
        return Inert()


def is_module(key: Any) -> bool:
    """Whether a file refers to a class, with its source."""
    return key.__class__ is tuple and len(key) == 4 and key[0] in ("module", b"module")


def legacy_parts(obj: Any, kind: type[Pickler], protocol: int) -> Iterator[Any]:
    """The bytes, part by part, of a file in this format."""
    content = io.BytesIO()
    kept: list[Kept] = []
    for value in (MAGIC, VERSION, MACHINE, obj):
        pickler = kind(content, protocol=protocol)
        pickler.beyond = (None,)
        pickler.dump(value)
        kept = list(pickler.storages.values())
    kind(content, protocol=protocol).dump([storage.key for storage in kept])
    yield content.getbuffer()
    for storage in kept:
        elements = storage.bytes.view(numpy_dtype(storage.dtype))
        yield struct.pack("<q", elements.size)
        yield elements if sys.byteorder == "little" else elements.byteswap()
