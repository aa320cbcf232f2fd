"""The records of a file that `save` wrote, one at a time: PyTorch's `PyTorchFileReader`."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import numpy as np

from ...engine.tensor import Tensor, new_tensor
from ...ops.tensor.storage import UntypedStorage
from ...serialization.archive import Archive
from ...serialization.files import Source, opened
from ...serialization.reading import data_pickle

__all__ = ["PyTorchFileReader"]

MISSING = "PytorchStreamReader failed locating file {name}: file not found. It has {names}"
OTHER_SIZE = "record size ({size} bytes) does not match expected size ({asked} bytes)"


class PyTorchFileReader:
    """The records of an archive, a path or a file opened for reading; nothing is unpickled.

    Raises RuntimeError for a file that is no archive, and for a record that is not in it.

    >>> import io
    >>> file = io.BytesIO()
    >>> rg.save({"x": rg.tensor([1, 2], dtype=rg.uint8)}, file)
    >>> _ = file.seek(0)
    >>> reader = rg.PyTorchFileReader(file)
    >>> reader.has_record("data/0"), reader.get_record("data/0")
    (True, b'\\x01\\x02')
    """

    def __init__(self, name_or_buffer: Any) -> None:
        with ExitStack() as stack:
            file = stack.enter_context(opened(name_or_buffer))
            self._archive = Archive(Source(file))
            self._prefix = data_pickle(self._archive)
            self._open = stack.pop_all()

    def __del__(self) -> None:
        if hasattr(self, "_open"):
            self._open.close()

    def get_all_records(self) -> list[str]:
        """The names of all records."""
        return [name.removeprefix(self._prefix) for name in self._archive.records]

    def has_record(self, name: str) -> bool:
        """Whether there is a record of this name."""
        return f"{self._prefix}{name}" in self._archive

    def get_record(self, name: str) -> bytes:
        """The bytes of a record."""
        return self._memory(name).tobytes()  # type: ignore[no-any-return]

    def get_record_size(self, name: str) -> int:
        """How many bytes a record has."""
        return self._memory(name).size  # type: ignore[no-any-return]

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Tensor:
        """An empty tensor over the memory of a record, of which `numel` elements are expected.

        For `UntypedStorage` as dtype these are bytes. Raises RuntimeError for another number.
        """
        kind = np.dtype(np.uint8) if dtype is UntypedStorage else dtype.numpy
        memory = self._memory(name)
        if memory.size != numel * kind.itemsize:
            raise RuntimeError(OTHER_SIZE.format(size=memory.size, asked=numel * kind.itemsize))
        return new_tensor(memory.view(kind)[:0])

    def _memory(self, name: str) -> Any:
        if not self.has_record(name):
            raise RuntimeError(MISSING.format(name=name, names=", ".join(self.get_all_records())))
        return self._archive.memory(f"{self._prefix}{name}")
