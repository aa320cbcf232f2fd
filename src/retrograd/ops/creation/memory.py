"""Tensors on memory that is there: of a buffer, or of a file, which shared memory is written to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes
from ...engine.overriding import CONVERTERS, named_in
from .from_data import check_device, check_dtype, finish

if TYPE_CHECKING:
    from ...engine.tensor import Tensor

__all__ = ["from_file", "frombuffer"]


def mapped(filename: Any, shared: bool, nbytes: int, kind: Any) -> Any:
    """The first bytes of a file as an array: written to it if `shared`, kept in memory if not."""
    path = os.fspath(filename)
    if not shared:
        size = os.path.getsize(path) if os.path.exists(path) else -1
        if size < 0:
            raise RuntimeError(
                f"unable to open file <{path}> in read-only mode: No such file or directory. To "
                "make it: shared=True"
            )
        if size < nbytes:
            raise RuntimeError(
                f"file <{path}> size <{size}> is smaller than the required mapping size <{nbytes}>"
            )
    else:
        with open(path, "ab") as file:
            if file.tell() < nbytes:
                file.truncate(nbytes)
    if not nbytes:
        return np.zeros(0, kind)
    shape = (nbytes // kind.itemsize,)
    return np.asarray(np.memmap(path, kind, "r+" if shared else "c", shape=shape))


@named_in(CONVERTERS)
def from_file(
    filename: Any,
    shared: bool = False,
    size: int = 0,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A 1-D tensor of `size` elements on a file, which is read as they are.

    If `shared`, writes go to the file, which is made, or made longer, where it must be; if not,
    they stay in memory. Raises RuntimeError for a file that is not there or too short.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "numbers")
    ...     _ = rg.from_file(path, shared=True, size=2).fill_(7.0)
    ...     rg.from_file(path, size=2)
    tensor([7., 7.])
    """
    check_device(device)
    kind = dtypes.default_numpy() if dtype is None else check_dtype(dtype, "from_file")
    return finish(mapped(filename, shared, size * kind.itemsize, kind), requires_grad)


@named_in(CONVERTERS)
def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A 1-D tensor on the memory of an object that has the buffer protocol.

    `count` elements (all, if negative) from `offset` bytes on. Raises ValueError where the buffer
    does not hold them.

    >>> rg.frombuffer(bytearray(b"abc"), dtype=rg.uint8)
    tensor([97, 98, 99], dtype=retrograd.uint8)
    """
    target = check_dtype(dtype, "frombuffer")
    length, width = memoryview(buffer).nbytes, target.itemsize
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % width:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a "
            f"multiple of element size ({width})"
        )
    if count > 0 and offset + count * width > length:
        raise ValueError(
            f"requested buffer length ({count} * {width} bytes) after offset ({offset} bytes) must "
            f"not be greater than actual buffer length ({length} bytes)"
        )
    return finish(np.frombuffer(buffer, target, count, offset), requires_grad)
