"""`save` and `load`: tensors, and Python data that holds them, in a file.

NOTE [File format]
1. A file is a header, a pickle (protocol 5), and after it the blocks of memory that the pickle
   refers to, in order, so that no block passes through the pickle machinery.
2. header = MAGIC, then little-endian 64-bit numbers: the format's version, the pickle's length, the
   number of blocks, and the length of each block.
3. A tensor is written as its whole memory block and its place in it. Tensors and NumPy arrays that
   share memory share it again after loading; a small view of a large tensor writes all of it.
4. Graphs are never written: what comes back is a leaf with the same `requires_grad`.

NOTE [What a file may do]
A pickle can name any function and have it called. With `weights_only=True`, as by default, it names
only the functions of `REBUILDERS`, each of which makes data, and it gets wrappers of them, so that
it cannot alter them either. More can be allowed, one by one (`add_safe_globals`).
"""

from __future__ import annotations

import collections
import io
import os
import pickle
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from . import dtypes
from .engine.placement import present
from .engine.tensor import Size, Tensor, device
from .kernels.memory import address, memory, root, strided
from .ops.tensor.pickling import attributes, rebuild

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "save"]

MAGIC = b"\x89RETROGRAD\r\n\x1a\n"
VERSION = 1

NOT_ALLOWED = (
    "Weights only load failed: the file asks for {name}, which is none of the things that are "
    "loaded by default (tensors, dtypes, NumPy arrays of numbers, OrderedDict, Python's own data). "
    "Only if you trust whoever wrote the file: retrograd.load(file, weights_only=False), or allow "
    "this one: retrograd.serialization.add_safe_globals([{short}])"
)
TRUNCATED = "the file ends early: it was not written to its end, or it was cut"


class Memory:
    """A block of memory, which several arrays may share, and the array that owns it."""

    __slots__ = ("array", "owner")

    def __init__(self, array: Any, owner: Any = None) -> None:
        self.array, self.owner = array, owner


# -- what files may call: NOTE [What a file may do] --------------------------------------------


def _memory(buffer: Any) -> Memory:
    return Memory(np.frombuffer(buffer, np.uint8))


def _array(block: Memory, dtype: str, shape: Any, strides: Any, offset: int) -> Any:
    target = dtypes.by_name(dtype).numpy
    return strided(block.array, shape, strides, offset, target)


def _tensor(kind: str, array: Any, requires_grad: bool, stored: dict[str, Any]) -> Tensor:
    return rebuild(_class_called(kind), array, requires_grad, stored)


def _number(dtype: str, value: Any) -> Any:
    return dtypes.by_name(dtype).numpy.type(value)


def _size(sizes: Iterable[int]) -> Size:
    return Size(sizes)


TENSOR = "retrograd.engine.tensor.Tensor"  # under the alias `torch`, too

REBUILDERS: dict[str, Callable[..., Any]] = {
    f"{function.__module__}.{function.__qualname__}": function
    for function in (
        _memory,
        _array,
        _tensor,
        _number,
        _size,
        dtypes.by_name,
        device,
        collections.OrderedDict,
        complex,
        range,
        slice,
    )
}


def _class_called(name: str) -> type[Tensor]:
    """The tensor class of that full name, if it is loaded; none of its code is run."""
    waiting = [Tensor]
    while waiting:
        found = waiting.pop()
        if _full_name(found) == name:
            return found
        waiting += found.__subclasses__()
    raise pickle.UnpicklingError(
        f"the file holds a tensor of class {name}, which is not known here. Import its module."
    )


def _full_name(kind: Any) -> str:
    return TENSOR if kind is Tensor else f"{kind.__module__}.{kind.__qualname__}"


# -- writing -----------------------------------------------------------------------------------


class Writer(pickle.Pickler):
    """The pickler that writes tensors and arrays by their memory: NOTE [File format]."""

    def __init__(self, file: Any) -> None:
        self.blocks: list[Any] = []
        self.memories: dict[int, Memory] = {}
        super().__init__(file, protocol=5, buffer_callback=self.take)

    def take(self, buffer: pickle.PickleBuffer) -> None:
        """Keep a block for writing after the pickle."""
        self.blocks.append(buffer.raw())

    def reducer_override(self, obj: Any) -> Any:
        """How the types that are not pickled in Python's way are written."""
        if isinstance(obj, Tensor):
            kept = (_full_name(type(obj)), obj._array, obj.requires_grad, attributes(obj))
            return _tensor, kept
        kind = type(obj)
        if kind is Memory:
            return _memory, (pickle.PickleBuffer(obj.array),)
        if kind is Size:
            return _size, (list(obj),)
        if kind is device:
            return device, (str(obj),)
        if kind is np.ndarray or isinstance(obj, np.generic):
            return self.numbers(obj)
        return NotImplemented

    def numbers(self, values: Any) -> Any:
        """How a NumPy array or number is written, if a tensor could hold it."""
        try:
            dtype = dtypes.of_numpy(values.dtype)
        except TypeError:
            return NotImplemented
        if values.dtype != dtype.numpy:
            values = values.astype(dtype.numpy)  # another byte order
        if isinstance(values, np.generic):
            return _number, (dtype.name, values.item())
        owner, block = root(values), memory(values)
        offset = address(values) - address(block) if values.size else 0
        kept = self.memories.get(id(owner))
        if kept is None:
            if not block.flags.writeable:  # pickle would have it read-only after loading, too
                block = block.copy()
            kept = self.memories[id(owner)] = Memory(block, owner)
        return _array, (kept, dtype.name, values.shape, values.strides, offset)


def save(obj: Any, f: Any) -> None:
    """Write `obj` to `f`, a path or a file opened for writing bytes.

    `obj` is a tensor, or anything pickle can write that holds tensors, such as a `state_dict`.
    Tensors come back as leaves. The format is Retrograd's own. Raises TypeError for another `f`.
    Source: PyTorch's `save`.

    >>> import io
    >>> file = io.BytesIO()
    >>> rg.save({"weight": rg.ones(2)}, file)
    >>> rg.load(io.BytesIO(file.getvalue()))
    {'weight': tensor([1., 1.])}
    """
    pickled = io.BytesIO()
    writer = Writer(pickled)
    writer.dump(obj)
    content, blocks = pickled.getbuffer(), writer.blocks
    numbers = (VERSION, content.nbytes, len(blocks), *(block.nbytes for block in blocks))
    parts = [MAGIC, struct.pack(f"<{len(numbers)}Q", *numbers), content, *blocks]
    if isinstance(f, (str, os.PathLike)):
        with open(f, "wb") as file:
            file.writelines(parts)
    elif hasattr(f, "write"):
        for part in parts:
            f.write(part)
    else:
        raise TypeError(f"expected a path or a file opened for writing, got {type(f).__name__}")


# -- reading -----------------------------------------------------------------------------------

_allowed: dict[str, Any] = {}


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Let files loaded with `weights_only=True` use these classes or functions too."""
    for thing in safe_globals:
        _allowed[_full_name(thing)] = thing


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` has allowed."""
    return list(_allowed.values())


def clear_safe_globals() -> None:
    """Take back all that `add_safe_globals` has allowed."""
    _allowed.clear()


class RestrictedReader(pickle.Unpickler):
    """The unpickler of `weights_only=True`: NOTE [What a file may do]."""

    def find_class(self, module: str, name: str) -> Any:
        """What the file may use under this name."""
        full = f"{module}.{name}"
        if full in _allowed:
            return _allowed[full]
        function = REBUILDERS.get(full)
        if function is None:
            raise pickle.UnpicklingError(NOT_ALLOWED.format(name=full, short=name))
        return lambda *args: function(*args)


def _exactly(file: Any, size: int) -> bytearray:
    """The next `size` bytes, as memory that may be written."""
    content = bytearray()
    while len(content) < size:  # a lying header must not make us allocate what is not there
        part = file.read(min(size - len(content), 1 << 26))
        if not part:
            raise RuntimeError(TRUNCATED)
        content += part
    return content


def _read(file: Any, weights_only: bool) -> Any:
    opening = file.read(len(MAGIC))
    if not opening:
        raise EOFError("Ran out of input: the file is empty")
    if opening != MAGIC:
        raise RuntimeError(
            "Invalid magic number; corrupt file? It was not written by retrograd.save, for it "
            f"begins with {bytes(opening[:8])!r}."
        )
    version, length, count = struct.unpack("<3Q", _exactly(file, 24))
    if version != VERSION:
        raise RuntimeError(
            f"the file has version {version} of the format, and this Retrograd reads {VERSION}. "
            "Read it with a newer Retrograd."
        )
    sizes = struct.unpack(f"<{count}Q", _exactly(file, 8 * count))
    content = io.BytesIO(_exactly(file, length))
    blocks = [_exactly(file, size) for size in sizes]
    reader = RestrictedReader if weights_only else pickle.Unpickler
    return reader(content, buffers=blocks).load()


def load(f: Any, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """Read what `save` wrote from `f`, a path or a file opened for reading bytes.

    With `weights_only`, a file holds only tensors, dtypes, NumPy arrays of numbers and Python's own
    data; anything else raises pickle.UnpicklingError before it is touched. Without, the file can
    run any code: only for files whose source you trust. `map_location` may name the cpu.

    Raises RuntimeError for a file that is no such file or is cut, EOFError for an empty one,
    TypeError for another `f`. Source: PyTorch's `load`.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "x.rg")
    ...     rg.save(rg.ones(2, requires_grad=True), path)
    ...     rg.load(path)
    tensor([1., 1.], requires_grad=True)
    """
    if map_location is not None:
        present(map_location)
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _read(file, weights_only)
    if not hasattr(f, "read"):
        raise TypeError(f"expected a path or a file opened for reading, got {type(f).__name__}")
    return _read(f, weights_only)
