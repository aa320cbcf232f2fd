"""What storages do with their elements: read, write, copy and print them.

NOTE [Storages] in `storage.py` says what a storage is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import version
from ...engine.placement import CPU, META, as_device, device
from ...kernels.allocation import has_values
from ...kernels.memory import address
from ...kernels.shared import block_of
from ..creation.from_data import copy_of, empty_on

NO_VALUES = (
    "Not available for 'meta' device type: a storage there has a size and no data. Make one with "
    "data: UntypedStorage(s.nbytes())"
)


class Elements:
    """What both kinds of storages do with their elements, a flat array made anew for each call."""

    _elements: Any
    is_cuda = is_sparse = False

    def _of(self, elements: Any) -> Any:
        """A new storage of this kind with the values of an array."""
        raise NotImplementedError

    def _shown(self) -> Any:
        """The bytes of the storage as a flat array."""
        raise NotImplementedError

    @property
    def device(self) -> device:
        """Where the memory lies: "meta" if there is none."""
        return CPU if has_values(self._elements) else META

    def __len__(self) -> int:
        return self._elements.size  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def _values(self) -> Any:
        """The elements, for whoever reads them; NotImplementedError where there are none."""
        elements = self._elements
        if not has_values(elements):
            raise NotImplementedError(NO_VALUES)
        return elements

    def __getitem__(self, index: int) -> Any:
        return self._values()[self._place(index)].item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        place = index if isinstance(index, slice) else self._place(index)
        if isinstance(value, Elements):
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
        blank = self.device.type == "meta"
        lines = "...\n" if blank else "".join(f" {value}\n" for value in self.tolist()) or " \n"
        return f"{lines}[{version.called}.storage.{self._title()} of size {len(self)}]"

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
        return address(elements) if elements.size and has_values(elements) else 0

    def tolist(self) -> list[Any]:
        """The elements in their order in memory."""
        return self._values().tolist()  # type: ignore[no-any-return]

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
        """The storage itself; NotImplementedError where there is no data."""
        np.asarray(self._elements)  # which says so
        return self

    def to(self, *, device: Any, non_blocking: bool = False) -> Any:
        """The storage itself, or one without data on the meta device."""
        where = as_device(device)
        if where.type != "meta":
            return self.cpu()
        return self if self.device.type == "meta" else self._of(empty_on(self._elements, where))

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
        return self._shown()._alone()  # type: ignore[no-any-return]

    @property
    def _cdata(self) -> int:
        return id(self._shown())

    def _fix_weakref(self) -> None:
        """Do nothing: a weak reference that gives the object keeps it alive, as everywhere."""
