"""What programs, and files that PyTorch pickled, ask of `torch.storage`."""

from __future__ import annotations

import io
from typing import Any

from ..dtypes import dtype
from ..ops.tensor.storage import TYPES, TypedStorage, UntypedStorage
from ..serialization import load

__all__ = ["TypedStorage", "UntypedStorage"]


def _load_from_bytes(b: bytes) -> Any:
    """A storage from the bytes of a file, as Python's own pickle has it; it may do anything."""
    return load(io.BytesIO(b), weights_only=False)


def _dtype_to_storage_type_map() -> dict[dtype, str]:
    """The names of the storages of one dtype, by the dtype."""
    return {kind.dtype: name for name, kind in TYPES.items()}
