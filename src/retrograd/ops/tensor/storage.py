"""The memory behind tensors as objects: by bytes, and by elements of one dtype.

NOTE [Storages]
1. A storage stands on the array that owns the memory which a tensor looks at (`memory.root`). While
   it lives, whoever asks for the storage of that memory gets the same object: `KNOWN`.
2. A tensor keeps the storage that it was asked for, in `_storage`. The memory of one that began as
   a storage keeps that alive by itself: its arrays stand on a `Lent`.
3. A storage that is written counts a write for every tensor that was asked for it, or set to it.
4. Memory that an array looks at never moves, and is never given back. So `resize_` shows less of
   it, or again all of it; more than there is it makes only where nobody else looks.
5. That of a tensor on the meta device has a size, and no bytes.

This module knows nothing of graphs.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from ... import dtypes, version
from ...engine.placement import CPU, META, device
from ...engine.tensor import Tensor, wrote
from ...kernels.allocation import is_valueless
from ...kernels.memory import Span, address, memory, root
from ...kernels.shared import block_of
from ...locks import structure
from ..core.arguments import public, titled
from ..creation.from_data import check_device, check_dtype, copy_of
from ..creation.memory import mapped
from .conversion import SHORT
from .pickling import _copied

__all__ = ["TypedStorage", "UntypedStorage", "is_storage"]

NOT_RESIZABLE = (
    "Trying to resize storage that is not resizable: it has room for {room} bytes, {size} were "
    "asked for, and other arrays look at its memory, which cannot move. Make a new one: "
    "retrograd.UntypedStorage({size}).copy_(...)"
)
NO_DATA = (
    "{name}() received an invalid combination of arguments. Argument type not recognized: {kind}. "
    "Expected a size, a sequence of numbers, or wrap_storage=an UntypedStorage"
)

BYTE = np.dtype(np.uint8)
KNOWN: weakref.WeakValueDictionary[int, UntypedStorage] = weakref.WeakValueDictionary()


class Lent(Span):
    """The memory of a storage, which lives as long as an array made of this: NOTE [Storages], 2."""

    def __init__(self, storage: UntypedStorage, writeable: bool) -> None:
        super().__init__(storage._owner, writeable)
        self.storage = storage


class _Elements:
    """What both kinds of storages do with their elements, a flat array made anew for each call."""

    _elements: Any
    is_cuda = is_sparse = False

    def _of(self, elements: Any) -> Any:
        """A new storage of this kind with the values of an array."""
        raise NotImplementedError

    def _shown(self) -> UntypedStorage:
        """The bytes."""
        raise NotImplementedError

    @property
    def device(self) -> device:
        """Where the memory lies: "meta" if there is none."""
        return META if is_valueless(self._elements) else CPU

    def __len__(self) -> int:
        return self._elements.size  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: int) -> Any:
        return self._elements[self._place(index)].item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        place = index if isinstance(index, slice) else self._place(index)
        if isinstance(value, _Elements):
            raise RuntimeError(f"cannot set item with value type {type(value).__name__}")
        elements = self._elements
        if not elements.flags.writeable:
            raise RuntimeError("the memory of this storage is read-only. Write a clone: s.clone()")
        elements[place] = copy_of(value, elements.dtype)
        self._shown()._count("a write to its storage")

    def _place(self, index: Any) -> int:
        size = len(self)
        if not isinstance(index, int):
            raise TypeError(f"can't index a {type(self).__name__} with {type(index).__name__}")
        if not -size <= index < size:
            raise IndexError(f"index {index} out of range for storage of size {size}")
        return index

    def __copy__(self) -> Any:
        return self.clone()

    def __repr__(self) -> str:
        lines = [f" {value}\n" for value in self.tolist()]
        return "".join(lines) + f"[{version.called}.storage.{self._title()} of size {len(self)}]"

    def _title(self) -> str:
        return f"{type(self).__name__}(device={self.device})"

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def size(self) -> int:
        """The number of elements; of bytes, for an untyped storage."""
        return len(self)

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._elements.nbytes  # type: ignore[no-any-return]

    def element_size(self) -> int:
        """The bytes of one element: 1 for an untyped storage."""
        return self._elements.itemsize  # type: ignore[no-any-return]

    def data_ptr(self) -> int:
        """The address of the first element; 0 where there is none."""
        elements = self._elements
        return address(elements) if elements.size and not is_valueless(elements) else 0

    def tolist(self) -> list[Any]:
        """The elements in their order in memory."""
        return self._elements.tolist()  # type: ignore[no-any-return]

    def fill_(self, value: Any) -> Any:
        """Set all elements to a number."""
        self[:] = value
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> Any:
        """Take over the values of a storage; RuntimeError where it has not as many."""
        if len(source) != len(self):
            raise RuntimeError(
                f"size does not match, self has {len(self)} elements but source has {len(source)}"
            )
        self[:] = source._elements.astype(self._elements.dtype)
        return self

    def clone(self) -> Any:
        """A copy with memory of its own."""
        return self._of(self._elements.copy())

    def cpu(self) -> Any:
        """The storage itself: all are in the memory of the CPU."""
        return self

    def get_device(self) -> int:
        """-1, as for all that is in the memory of the CPU."""
        return -1

    def is_shared(self) -> bool:
        """Whether other processes can see the memory: see `Tensor.share_memory_`."""
        return block_of(self._shown()._owner) is not None

    def is_pinned(self) -> bool:
        """Whether the memory is page-locked: False."""
        return False

    def resizable(self) -> bool:
        """Whether `resize_` can make more room: NOTE [Storages], 4."""
        return self._shown()._alone()

    @property
    def _cdata(self) -> int:
        return id(self._shown())

    def _fix_weakref(self) -> None:
        """Nothing: a weak reference that gives the object keeps it alive, as everywhere."""


class UntypedStorage(_Elements):
    """Memory by its bytes: of a tensor, `x.untyped_storage()`, or new, from a size or integers.

    `zeros(0).set_(storage)` shows it as a tensor, whose writes show here. Raises RuntimeError for
    what is neither a size nor a sequence of integers below 256. Source: PyTorch's `UntypedStorage`.

    >>> x = rg.arange(5)
    >>> x[1:].untyped_storage() is x.untyped_storage(), x.untyped_storage().nbytes()
    (True, 40)
    >>> rg.UntypedStorage([0, 0, 128, 63]).float().tolist()
    [0.0, 0.0, 128.0, 63.0]
    """

    _owner: Any
    _size: int

    def __init__(self, data: Any = 0, *, device: Any = None) -> None:
        check_device(device)
        if isinstance(data, int):
            if data < 0:
                raise RuntimeError(f"UntypedStorage: a size cannot be negative, got {data}")
            made = np.zeros(data, np.uint8)
        elif isinstance(data, (str, Tensor)) or not hasattr(data, "__getitem__"):
            raise RuntimeError(
                f"UntypedStorage(): Expected a sequence type, but got {type(data).__name__}. For "
                "the memory of a tensor: x.untyped_storage()"
            )
        else:
            values = list(data)
            odd = [value for value in values if not isinstance(value, int)]
            if odd:
                raise RuntimeError(
                    "UntypedStorage(): tried to construct a storage from a sequence "
                    f"({type(data).__name__}), but one of the items was of type "
                    f"{type(odd[0]).__name__} instead of int"
                )
            made = np.array(values, np.uint8)
        self._stand_on(made, made.nbytes)

    def _stand_on(self, owner: Any, size: int) -> None:
        self._owner, self._size = owner, size
        self._asked: Any = weakref.WeakValueDictionary()  # the tensors that show it, by id
        KNOWN[id(owner)] = self

    @property
    def _elements(self) -> Any:
        return memory(self._owner)[: self._size]

    def _of(self, elements: Any) -> UntypedStorage:
        return storage_of(elements.view(np.uint8))

    def _shown(self) -> UntypedStorage:
        return self

    def _count(self, by: str) -> None:
        for tensor in list(self._asked.values()):
            if tensor._storage is self:
                wrote(tensor, by)

    def _as_array(self, kind: np.dtype[Any] | None) -> Any:
        """The elements of a NumPy dtype that the memory holds, as an array that keeps it alive."""
        kind, writeable = kind or np.dtype(np.int64), memory(self._owner).flags.writeable
        whole = np.asarray(Lent(self, writeable)) if self._size else self._elements
        return whole[: self._size // kind.itemsize * kind.itemsize].view(kind)

    def _keep(self, tensor: Tensor) -> UntypedStorage:
        """This storage, kept by a tensor that shows it: NOTE [Storages], 2 and 3."""
        if tensor._storage is not self:
            tensor._storage = self
            self._asked[id(tensor)] = tensor
        return self

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return super().__getitem__(index)
        if index.step not in (None, 1):
            raise RuntimeError(
                f"Trying to slice with a step of {index.step}, but only a step of 1 is supported"
            )
        return storage_of(self._elements[index].copy())

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        return rebuilt(_copied(self._elements, memo))

    def __reduce__(self) -> Any:
        return rebuilt, (self._elements,)

    def _alone(self) -> bool:
        return sys.getrefcount(self._owner) <= 2 and self._owner.flags.owndata

    def resize_(self, size: int) -> UntypedStorage:
        """Show another number of bytes, new ones with any values: NOTE [Storages], 4."""
        room = memory(self._owner).size
        if size > room:
            if not self._alone():
                raise RuntimeError(NOT_RESIZABLE.format(room=room, size=size))
            larger = np.zeros(size, np.uint8)
            larger[:room] = memory(self._owner)
            self._stand_on(larger, size)
        self._size = size
        return self

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def new(self) -> UntypedStorage:
        """A storage without bytes."""
        return UntypedStorage(0)

    def type(self) -> str:
        """The name of the class."""
        return f"{version.called}.storage.UntypedStorage"

    def byteswap(self, dtype: dtypes.dtype) -> None:
        """Turn round the bytes of each element of a dtype, of each part of a complex one."""
        kind = check_dtype(dtype, "byteswap")
        width = kind.itemsize // (1 + (kind.kind == "c"))
        self._elements.view(f"u{width}").byteswap(inplace=True)
        self._count("byteswap")

    @staticmethod
    def from_buffer(
        buffer: Any,
        byte_order: Literal["big", "little", "native"] = "native",
        *,
        dtype: Any = dtypes.uint8,
        count: int = -1,
        offset: int = 0,
    ) -> UntypedStorage:
        """The bytes of an object that has the buffer protocol, copied.

        They are those of elements of `dtype`, whose order, "big", "little" or "native", is made
        that of this machine. Raises ValueError where they are no whole number of elements.
        """
        kind = check_dtype(dtype, "from_buffer")
        given = kind.newbyteorder(byte_order)
        elements = np.frombuffer(buffer, given if kind.kind != "b" else np.uint8, count, offset)
        return storage_of(elements.astype(kind).view(np.uint8))

    @staticmethod
    def from_file(filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first bytes of a file: see `from_file`."""
        return storage_of(mapped(filename, shared, nbytes, BYTE))


def storage_of(array: Any) -> UntypedStorage:
    """The storage of the memory that an array looks at: NOTE [Storages], 1."""
    owner = array.whole if is_valueless(array) else root(array)
    with structure:
        found = KNOWN.get(id(owner))
        if found is None or found._owner is not owner:
            found = object.__new__(UntypedStorage)
            found._stand_on(owner, memory(owner).size)
    return found


def rebuilt(elements: Any) -> UntypedStorage:
    """A storage that was copied, of which `elements` are the bytes that it showed."""
    return storage_of(elements).resize_(elements.size)


class TypedStorage(_Elements):
    """Memory by elements of one dtype: of a tensor, `x.storage()`, or new, from a size or numbers.

    `untyped()` is the same by bytes, of which `wrap_storage` makes one. Raises TypeError or
    RuntimeError for other arguments. Source: PyTorch's `TypedStorage`.

    >>> x = rg.arange(5)
    >>> len(x[:2].storage()), x[1:].storage()[0], x[1:].storage().dtype
    (5, 0, retrograd.int64)
    >>> x.storage().fill_(7); x
     7
     7
     7
     7
     7
    [retrograd.storage.TypedStorage(dtype=retrograd.int64, device=cpu) of size 5]
    tensor([7, 7, 7, 7, 7])
    """

    def __init__(
        self, *data: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None
    ) -> None:
        check_device(device)
        if len(data) > 1:
            raise RuntimeError(
                f"TypedStorage(): Too many positional arguments: {len(data)}, expected at most 1"
            )
        if wrap_storage is not None:
            if data:
                raise RuntimeError(
                    "TypedStorage(): No positional arguments should be given with wrap_storage"
                )
            if dtype is None:
                raise RuntimeError("TypedStorage(): Argument 'dtype' must be specified")
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(
                    "TypedStorage(): Argument 'wrap_storage' must be UntypedStorage, but got "
                    f"{type(wrap_storage).__name__}. Write s.untyped()"
                )
        self.dtype = dtypes.get_default_dtype() if dtype is None else dtype
        kind = check_dtype(self.dtype, "TypedStorage")
        if wrap_storage is None:
            wrap_storage = storage_of(elements_of(data[0] if data else 0, kind).view(np.uint8))
        self._untyped_storage = wrap_storage

    @property
    def _elements(self) -> Any:
        kind, whole = self.dtype.numpy, self._untyped_storage._elements
        return whole[: whole.size // kind.itemsize * kind.itemsize].view(kind)

    def _of(self, elements: Any) -> TypedStorage:
        made = storage_of(elements.view(np.uint8))
        return TypedStorage(wrap_storage=made, dtype=dtypes.of_numpy(elements.dtype))

    def _shown(self) -> UntypedStorage:
        return self._untyped_storage  # type: ignore[no-any-return]

    def _as_array(self, kind: np.dtype[Any] | None) -> Any:
        if kind is not None and kind != self.dtype.numpy:
            raise RuntimeError(
                f"Expected a Storage of type {dtypes.legacy_name(kind)} or an UntypedStorage, but "
                f"got type {dtypes.legacy_name(self.dtype)}. Show its bytes: s.untyped()"
            )
        return self._untyped_storage._as_array(self.dtype.numpy)

    def _title(self) -> str:
        return f"TypedStorage(dtype={self.dtype}, device={self.device})"

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return super().__getitem__(index)

    def untyped(self) -> UntypedStorage:
        """The same memory, by bytes."""
        return self._shown()

    def resize_(self, size: int) -> TypedStorage:
        """Show another number of elements: `UntypedStorage.resize_`."""
        self._untyped_storage.resize_(size * self.element_size())
        return self

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the storage's type, or the elements as another dtype."""
        if dtype is None:
            return f"{version.called}.{self.pickle_storage_type()}"
        return self._of(self._elements.astype(check_dtype(dtype, "type")))

    def pickle_storage_type(self) -> str:
        """The name of the storage's type without its package, such as FloatStorage."""
        return f"{dtypes.legacy_name(self.dtype)}Storage"

    _data_ptr, _nbytes, _element_size = _Elements.data_ptr, _Elements.nbytes, _Elements.element_size
    _size, _resize_, _pickle_storage_type = _Elements.size, resize_, pickle_storage_type


def elements_of(data: Any, kind: np.dtype[Any]) -> Any:
    """The elements of a new storage, from a size or a sequence of numbers."""
    if isinstance(data, int):
        return np.zeros(data, kind)
    if isinstance(data, str):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if isinstance(data, (Tensor, _Elements)) or not hasattr(data, "__getitem__"):
        raise TypeError(NO_DATA.format(name="TypedStorage", kind=type(data)))
    return copy_of(list(data), kind)


def _cast(target: str) -> Any:
    """The method that converts the elements to the dtype called `target`."""

    def converted(self: Any) -> TypedStorage:
        return TypedStorage._of(self, self._elements.astype(dtypes.by_name(target).numpy))

    return titled(converted, target, f"The elements as {target}, copied.")


CASTS = {name: target.name for name, target in SHORT.items() if name[0] != "c" or name == "char"}
CASTS |= {"bfloat16": "bfloat16", "complex_float": "complex64", "complex_double": "complex128"}
for name, target in CASTS.items():
    setattr(_Elements, name, _cast(target))


def is_storage(obj: Any) -> bool:
    """Whether `obj` is a storage, such as the memory of a tensor, not a tensor.

    >>> rg.is_storage(rg.zeros(2)), rg.is_storage(rg.zeros(2).storage())
    (False, True)
    """
    return isinstance(obj, _Elements)


@public(methods="untyped_storage")
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that the tensor is a view of, by bytes. Source: `Tensor.untyped_storage`."""
    return storage_of(self._array)._keep(self)


@public(methods="storage _typed_storage")
def storage(self: Tensor) -> TypedStorage:
    """The memory that the tensor is a view of, by its elements. Source: `Tensor.storage`."""
    return TypedStorage(wrap_storage=untyped_storage(self), dtype=self.dtype)
