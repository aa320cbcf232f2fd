"""Storages of one dtype, by PyTorch's names: `FloatStorage` and its like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ... import dtypes, version
from ..core.arguments import public
from .storage import TypedStorage, UntypedStorage

if TYPE_CHECKING:
    from ...engine.tensor import Tensor

__all__ = ["Storage"]


class StorageType:
    """A class of storages of one dtype: call it to make one, or use it in `isinstance`.

    Source: PyTorch's `FloatStorage` and its like.

    >>> rg.FloatStorage([1, 2]).tolist(), rg.LongStorage(3).nbytes()
    ([1.0, 2.0], 24)
    >>> isinstance(rg.ones(1).storage(), rg.FloatStorage), rg.ones(1).storage_type()
    (True, <class 'retrograd.FloatStorage'>)
    """

    def __init__(self, dtype: dtypes.dtype) -> None:
        self.dtype = dtype
        self.__name__ = f"{dtypes.legacy_name(dtype)}Storage"

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
Storage = TYPES["FloatStorage"]
__all__ += list(TYPES)


@public(methods="storage_type")
def storage_type(self: Tensor) -> StorageType:
    """The type of the tensor's storage, such as `FloatStorage`."""
    return TYPES.get(f"{dtypes.legacy_name(self.dtype)}Storage") or StorageType(self.dtype)
