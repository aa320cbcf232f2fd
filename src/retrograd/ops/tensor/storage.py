"""The memory behind a tensor, for programs that ask whether two tensors share it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.tensor import Tensor
from ...kernels.memory import address, memory
from ..core.arguments import public

__all__ = ["is_storage"]


class Storage:
    """All of the memory that a tensor is a view of: `x.storage()`, or by bytes.

    It has a length, can be indexed, and tells its address.

    >>> x = rg.arange(5)
    >>> len(x[:2].storage()), x[1:].storage()[0], x[1:].untyped_storage().nbytes()
    (5, 0, 40)
    >>> x[1:].storage().data_ptr() == x.storage().data_ptr()
    True
    """

    def __init__(self, memory: Any) -> None:
        self.memory: np.ndarray[Any, Any] = memory

    def __len__(self) -> int:
        return self.memory.size

    def __getitem__(self, index: int) -> Any:
        return self.memory[index].item()

    def size(self) -> int:
        """The number of elements; of bytes, for an untyped storage."""
        return len(self)

    def nbytes(self) -> int:
        """The number of bytes."""
        return self.memory.nbytes

    def element_size(self) -> int:
        """The bytes of one element: 1 for an untyped storage."""
        return self.memory.itemsize

    def data_ptr(self) -> int:
        """The address of the first element."""
        return address(self.memory)

    def tolist(self) -> list[Any]:
        """The elements in their order in memory."""
        return self.memory.tolist()  # type: ignore[no-any-return]

    def untyped(self) -> Storage:
        """The same memory, by bytes."""
        return Storage(self.memory.view(np.uint8))


def is_storage(obj: Any) -> bool:
    """Whether `obj` is a tensor's storage, not a tensor.

    >>> rg.is_storage(rg.zeros(2)), rg.is_storage(rg.zeros(2).storage())
    (False, True)
    """
    return isinstance(obj, Storage)


@public(methods="storage")
def storage(self: Tensor) -> Storage:
    """The memory that the tensor is a view of, by its elements. Source: `Tensor.storage`."""
    block, kind = memory(self._array), self._array.dtype
    return Storage(block[: block.size // kind.itemsize * kind.itemsize].view(kind))


@public(methods="untyped_storage")
def untyped_storage(self: Tensor) -> Storage:
    """The memory that the tensor is a view of, by bytes. Source: `Tensor.untyped_storage`."""
    return Storage(memory(self._array))
