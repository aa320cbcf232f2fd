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
from typing import Any, Literal

import numpy as np

from ... import dtypes, version
from ...engine.overriding import IGNORED, named_in
from ...engine.placement import as_device
from ...engine.tensor import Tensor, wrote
from ...kernels.allocation import has_values
from ...kernels.memory import Span, memory, root
from ...kernels.shared import in_shared
from ...locks import structure
from ..core.arguments import public, titled
from ..creation.from_data import check_dtype, copy_of, empty_on
from ..creation.memory import mapped
from .conversion import SHORT
from .pickling import _copied
from .storage_elements import Elements

__all__ = ["Storage", "TypedStorage", "UntypedStorage", "is_storage"]

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


class UntypedStorage(Elements):
    """Memory by its bytes: of a tensor, `x.untyped_storage()`, or new, from a size or integers.

    `zeros(0).set_(storage)` shows it as a tensor, whose writes show here. Raises RuntimeError for
    what is neither a size nor a sequence of integers below 256.

    >>> x = rg.arange(5)
    >>> x[1:].untyped_storage() is x.untyped_storage(), x.untyped_storage().nbytes()
    (True, 40)
    >>> rg.UntypedStorage([0, 0, 128, 63]).float().tolist()
    [0.0, 0.0, 128.0, 63.0]
    """

    _owner: Any
    _size: int

    def __init__(self, data: Any = 0, *, device: Any = None) -> None:
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
        made = on(device, made)
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
        kind, elements = kind or np.dtype(np.int64), self._elements
        lent = self._size and has_values(elements)
        whole = np.asarray(Lent(self, elements.flags.writeable)) if lent else elements
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
            larger = on(self.device, np.zeros(size, np.uint8))
            larger[:room] = memory(self._owner)
            self._stand_on(larger, size)
        self._size = size
        return self

    @staticmethod
    def _new_shared(size: int, *, device: Any = "cpu") -> UntypedStorage:
        """Bytes in memory that processes share, for a collate function in a worker."""
        return storage_of(on(device, in_shared(np.zeros(size, np.uint8))))

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


def on(device: Any, array: Any) -> Any:
    """The array of a new storage, on the meta device without its data."""
    return array if device is None else empty_on(array, as_device(device))


def storage_of(array: Any) -> UntypedStorage:
    """The storage of the memory that an array looks at: NOTE [Storages], 1."""
    owner = root(array) if has_values(array) else array.whole
    with structure:
        found = KNOWN.get(id(owner))
        if found is None or found._owner is not owner:
            found = object.__new__(UntypedStorage)
            found._stand_on(owner, memory(owner).size)
    return found


def rebuilt(elements: Any) -> UntypedStorage:
    """A storage that was copied, of which `elements` are the bytes that it showed."""
    return storage_of(elements).resize_(elements.size)


class TypedStorage(Elements):
    """Memory by elements of one dtype: of a tensor, `x.storage()`, or new, from a size or numbers.

    `untyped()` is the same by bytes, of which `wrap_storage` makes one. Raises TypeError or
    RuntimeError for other arguments.

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
        self,
        *data: Any,
        wrap_storage: Any = None,
        dtype: Any = None,
        device: Any = None,
        _internal: bool = False,
    ) -> None:
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
            elements = on(device, elements_of(data[0] if data else 0, kind))
            wrap_storage = storage_of(elements.view(np.uint8))
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

    def _new_shared(self, size: int, *, device: Any = "cpu") -> TypedStorage:
        """New elements in memory that processes share: `UntypedStorage._new_shared`."""
        made = UntypedStorage._new_shared(size * self.element_size(), device=device)
        return TypedStorage(wrap_storage=made, dtype=self.dtype)

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

    _data_ptr, _nbytes, _element_size = Elements.data_ptr, Elements.nbytes, Elements.element_size
    _size, _resize_, _pickle_storage_type = Elements.size, resize_, pickle_storage_type


def elements_of(data: Any, kind: np.dtype[Any]) -> Any:
    """The elements of a new storage, from a size or a sequence of numbers."""
    if isinstance(data, int):
        return np.zeros(data, kind)
    if isinstance(data, str):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if isinstance(data, (Tensor, Elements)) or not hasattr(data, "__getitem__"):
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
    setattr(Elements, name, _cast(target))


@named_in(IGNORED)
def is_storage(obj: Any) -> bool:
    """Whether `obj` is a storage, such as the memory of a tensor, not a tensor.

    >>> rg.is_storage(rg.zeros(2)), rg.is_storage(rg.zeros(2).storage())
    (False, True)
    """
    return isinstance(obj, Elements)


@public(methods="untyped_storage")
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that the tensor is a view of, by bytes."""
    return storage_of(self._array)._keep(self)


@public(methods="storage _typed_storage")
def storage(self: Tensor) -> TypedStorage:
    """The memory that the tensor is a view of, by its elements."""
    return TypedStorage(wrap_storage=untyped_storage(self), dtype=self.dtype)


# -- by dtype ----------------------------------------------------------------------------------


class StorageType:
    """A class of storages of one dtype: call it to make one, or use it in `isinstance`.

    `Storage` is that of the default dtype. Source: PyTorch's `FloatStorage` and its like.

    >>> rg.FloatStorage([1, 2]).tolist(), rg.LongStorage(3).nbytes()
    ([1.0, 2.0], 24)
    >>> isinstance(rg.ones(1).storage(), rg.FloatStorage), rg.ones(1).storage_type()
    (True, <class 'retrograd.FloatStorage'>)
    >>> rg.set_default_dtype(rg.float64); rg.Storage(2).dtype
    retrograd.float64
    >>> rg.set_default_dtype(rg.float32)
    """

    def __init__(self, dtype: dtypes.dtype | None) -> None:
        self._dtype = dtype

    @property
    def dtype(self) -> dtypes.dtype:
        """The dtype of the elements; of `Storage`, the default dtype."""
        return self._dtype or dtypes.get_default_dtype()

    @property
    def __name__(self) -> str:
        return f"{dtypes.legacy_name(self.dtype)}Storage"

    def __call__(self, *data: Any, wrap_storage: Any = None) -> TypedStorage:
        return TypedStorage(*data, wrap_storage=wrap_storage, dtype=self.dtype)

    def from_buffer(
        self, buffer: Any, byte_order: Literal["big", "little", "native"] = "native", **part: int
    ) -> TypedStorage:
        """`UntypedStorage.from_buffer` by elements."""
        made = UntypedStorage.from_buffer(buffer, byte_order, dtype=self.dtype, **part)
        return self(wrap_storage=made)

    def from_file(self, filename: Any, shared: bool = False, size: int = 0) -> TypedStorage:
        """The first elements of a file: see `from_file`."""
        nbytes = size * self.dtype.itemsize
        return self(wrap_storage=UntypedStorage.from_file(filename, shared, nbytes))

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is self.dtype

    def __repr__(self) -> str:
        return f"<class '{version.called}.{self.__name__}'>"

    def __reduce__(self) -> str:
        return self.__name__


DTYPES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"),
    *("complex64", "complex128"),
)
TYPES = {made.__name__: made for made in map(StorageType, map(dtypes.by_name, DTYPES))}
globals().update(TYPES)
Storage = StorageType(None)
__all__ += list(TYPES)


@public(methods="storage_type")
def storage_type(self: Tensor) -> StorageType:
    """The type of the tensor's storage, such as `FloatStorage`."""
    return TYPES.get(f"{dtypes.legacy_name(self.dtype)}Storage") or StorageType(self.dtype)
