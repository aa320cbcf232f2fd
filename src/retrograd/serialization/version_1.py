"""Version 1 of this package's own format, which it wrote before PyTorch's and can still read.

A header, a pickle of protocol 5, and after it the blocks of memory that the pickle refers to, in
order. The header is `MAGIC`, then little-endian 64-bit numbers: the format's version, the pickle's
length, the number of blocks, and the length of each block.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from ..engine.placement import device
from ..engine.tensor import Tensor
from ..kernels.memory import strided
from .archive import Allowance
from .rebuilding import Rebuilding, numpy_dtype
from .safe import tensor_class
from .unpickler import failed, told

if TYPE_CHECKING:
    from .files import Source

__all__ = ["MAGIC", "Version1", "blocks"]

MAGIC = b"\x89RETROGRAD\r\n\x1a\n"
VERSION = 1
PLAIN = ("retrograd.engine.tensor.Tensor", "torch.Tensor")


class Version1(Rebuilding):
    """What the names of such a file stand for."""

    def __init__(self, size: int) -> None:
        super().__init__(self.none, self.none, Allowance(size))
        home = "retrograd.serialization."
        self.functions |= {
            f"{home}_memory": self.block,
            f"{home}_array": self.array,
            f"{home}_tensor": self.of_name,
            f"{home}_number": self.number,
            f"{home}_size": self.size,
            "retrograd.dtypes.by_name": self.dtype,
            "retrograd.engine.placement.device": device,
        }
        self.called |= {id(function) for function in self.functions.values()}

    def none(self, *storage: Any) -> Any:
        """There are no storages in this format."""
        raise failed("it refers to a storage, which this format does not have")

    def block(self, content: Any) -> Any:
        """A block of memory."""
        return np.frombuffer(content, np.uint8)

    def array(self, block: Any, dtype: str, shape: Any, strides: Any, offset: int) -> Any:
        """An array in a block."""
        return strided(block, shape, strides, offset, numpy_dtype(dtype))

    def dtype(self, name: str) -> Any:
        """A dtype by its name."""
        return dtypes.of_numpy(numpy_dtype(name))

    def number(self, dtype: str, value: Any) -> Any:
        """A number of NumPy's."""
        if value.__class__ not in (bool, int, float, complex):
            raise TypeError(f"a number of {told(value)}")
        return numpy_dtype(dtype).type(value)

    def of_name(self, name: str, array: Any, requires_grad: bool, stored: Any) -> Tensor:
        """A tensor of the class of that name."""
        if name.__class__ is not str:
            raise TypeError(f"a class called {told(name)}")
        kind = Tensor if name in PLAIN else tensor_class(name) or self.known(f"torch{name[9:]}")
        if kind is None:
            raise failed(f"the file holds a tensor of class {name}. Import its module first.")
        return self.dressed(kind, array, requires_grad, stored)


def blocks(source: Source) -> tuple[bytes, list[Any]]:
    """The pickle, and the blocks behind it."""
    _, version, length, count = struct.unpack("<14s3Q", source.bytes(0, 38))
    if version != VERSION:
        raise RuntimeError(
            f"the file has version {version} of the format, and this Retrograd reads {VERSION}. "
            "Read it with a newer Retrograd."
        )
    sizes = struct.unpack(f"<{count}Q", source.bytes(38, 8 * count)) if count else ()
    place = 38 + 8 * count
    content = source.bytes(place, length)
    place += length
    found = []
    for size in sizes:
        found.append(source.memory(place, size))
        place += size
    return content, found
