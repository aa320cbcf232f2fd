"""PyTorch's format before archives: pickles one after the other, and then the storages.

Magic number, version and a description of the machine; the object; the keys of its storages; for
each of these the number of its elements, 64 bits, and its bytes, both little-endian.
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from .archive import Allowance
from .files import CUT, exactly, fill
from .rebuilding import Block, Rebuilding, numpy_dtype, width
from .unpickler import failed, told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .pickler import Kept, Pickler

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


class Legacy(Rebuilding):
    """What the names of a file stand for, and room for its storages, whose bytes come last."""

    def __init__(self, place: Callable[[Any, str], Any], size: int) -> None:
        super().__init__(self.room, place, Allowance(size))
        self.left = size  # no more room is made than the file has bytes
        self.later: list[tuple[Any, Any, Any]] = []

    def room(self, name: str, size: int) -> Any:
        """Memory for a storage."""
        self.left -= size
        if self.left < 0:
            raise RuntimeError(CUT.format(has=self.left + size, needs=size))
        return np.empty(size, np.uint8)

    def persistent(self, key: Any) -> Any:
        """The storage that a file refers to, or a part of one."""
        if key.__class__ is tuple and len(key) == 4 and key[0] in ("module", b"module"):
            return key[1]  # a class, with its source
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

    def turned(self, function: Any, array: Any) -> Any:
        """Room for what a function makes of an array, once that has its values."""
        room = np.empty(array.shape, array.dtype)
        self.later.append((function, array, room))
        return room

    def load(self, file: Any, data: Callable[[Any], Any], unpickle: Callable[[Any], Any]) -> Any:
        """What a file holds. `data` reads a pickle of Python's data, `unpickle` any."""
        begins = file.read(8)
        file.seek(-len(begins), io.SEEK_CUR)
        try:
            magic = data(file)
        except (pickle.UnpicklingError, RuntimeError):
            raise pickle.UnpicklingError(NOT_OURS.format(begins=bytes(begins))) from None
        if magic != MAGIC:
            raise RuntimeError(NOT_OURS.format(begins=bytes(begins)))
        version, _ = data(file), data(file)
        if version != VERSION:
            raise RuntimeError(f"Invalid protocol version: {told(version)}; expected {VERSION}")
        found = unpickle(file)
        self.fill_storages(file, data(file))
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
        for function, array, room in self.later:
            function(array, out=room)


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
