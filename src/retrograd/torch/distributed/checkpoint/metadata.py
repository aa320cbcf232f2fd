"""What a checkpoint says of itself in its file `.metadata`: PyTorch's format, written and read.

The file is a pickle. It is read by an unpickler that knows the names of this format and no others,
so it runs nothing: NOTE [What a file may do] in `serialization.unpickler`.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field, fields
from typing import Any

from .... import dtypes
from ....engine.tensor import Size
from ....ops.tensor.inspection import layout, strided
from ....serialization.pickler import Name, Pickler
from ....serialization.rebuilding import DTYPES, numpy_dtype
from ....serialization.unpickler import Lookup, Unpickler, failed, told

__all__ = [
    "BytesStorageMetadata",
    "CheckpointException",
    "ChunkStorageMetadata",
    "Metadata",
    "MetadataIndex",
    "StorageInfo",
    "StorageMeta",
    "TensorProperties",
    "TensorStorageMetadata",
    "packed",
    "unpacked",
]


class CheckpointException(RuntimeError):  # noqa: N818 (PyTorch's name)
    """A checkpoint lacks what is asked for, or some rank could not write or read its part."""


@dataclass
class TensorProperties:
    """What a tensor is, beside its values."""

    dtype: Any
    layout: Any = strided
    requires_grad: bool = False


@dataclass
class ChunkStorageMetadata:
    """A block of a tensor: where it begins in the whole, and its sizes."""

    offsets: Size
    sizes: Size


@dataclass
class TensorStorageMetadata:
    """A tensor of a checkpoint: the size of the whole, and its blocks."""

    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """Something else than a tensor."""


@dataclass(frozen=True)
class MetadataIndex:
    """The name of a block: that of its tensor, and where it begins; or of something else."""

    fqn: str
    offset: Size | None = None
    index: int | None = field(default=None, hash=False, compare=False)


@dataclass
class StorageInfo:
    """Where a block is: the file, and its bytes there."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Any = None


@dataclass
class StorageMeta:
    """Which checkpoint it is."""

    checkpoint_id: Any = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """All that a checkpoint says of itself."""

    state_dict_metadata: dict[str, Any]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


HOME = "torch.distributed.checkpoint.metadata"
NAMES: dict[type, Name] = {
    kind: Name(HOME, kind.__name__)
    for kind in (
        TensorProperties, ChunkStorageMetadata, TensorStorageMetadata, BytesStorageMetadata,
        MetadataIndex, StorageMeta, Metadata,
    )
} | {StorageInfo: Name("torch.distributed.checkpoint.filesystem", "_StorageInfo")}  # fmt: skip


class _Pickler(Pickler):
    """Writes the classes of this module by PyTorch's names, as calls of them."""

    def reducer_override(self, obj: Any) -> Any:
        """How an object is written."""
        name = NAMES.get(type(obj))
        if name is None:
            return super().reducer_override(obj)
        return name, tuple(getattr(obj, each.name) for each in fields(obj))


class _Names(Lookup):
    """What the names in the file stand for."""

    def __init__(self) -> None:
        self.known = {tuple(name): kind for kind, name in NAMES.items()} | {
            ("torch", "Size"): _size,
            ("torch.serialization", "_get_layout"): _layout,
            (HOME, "_MEM_FORMAT_ENCODING"): _nothing,
            ("pathlib", "PosixPath"): _path,
            ("pathlib", "WindowsPath"): _path,
            ("pathlib._local", "PosixPath"): _path,
        }

    def find(self, module: str, name: str) -> Any:
        """What a name stands for; raises UnpicklingError for a name of no checkpoint."""
        found: Any = self.known.get((module, name))
        if found is None and module == "torch" and name in DTYPES:
            found = dtypes.of_numpy(numpy_dtype(name))
        if found is None:
            raise failed(f"a checkpoint's .metadata does not use {module}.{name}")
        return found

    def calls(self, function: Any) -> bool:
        """Whether the file may call it: all that are no dtypes."""
        return function in self.known.values()

    def makes(self, kind: Any) -> bool:
        """Whether it is a class of this module."""
        return kind in NAMES

    def fill(self, made: Any, state: Any) -> None:
        """Give an object its fields."""
        names = [each.name for each in fields(made)] if type(made) in NAMES else []
        if isinstance(made, TensorProperties) and isinstance(state, tuple):
            state = dict(zip(names, state, strict=False))
        if not isinstance(state, dict) or not {*state} <= {*names}:
            raise failed(f"it gives {told(made)} the state {told(state)}")
        for name, value in state.items():
            object.__setattr__(made, name, value)


def _size(sizes: Any = ()) -> Size:
    if not isinstance(sizes, (tuple, list)) or any(n.__class__ is not int for n in sizes):
        raise TypeError(f"a tensor of sizes {told(sizes)}")
    return Size(sizes)


def _layout(name: str) -> layout:
    if name != "torch.strided":
        raise failed(f"it has the layout {told(name)}: tensors of checkpoints are strided")
    return strided


def _path(*parts: str) -> str:
    return "/".join(map(str, parts))


def _nothing(*_: Any) -> None:
    """The format of memory, which is not kept."""


def packed(metadata: Metadata) -> bytes:
    """The bytes of the file."""
    file = io.BytesIO()
    _Pickler(file, protocol=4).dump(metadata)
    return file.getvalue()


def unpacked(content: bytes) -> Metadata:
    """What the file says; pickle.UnpicklingError for another file."""
    found = Unpickler(io.BytesIO(content), len(content), _Names()).load()
    if not isinstance(found, Metadata):
        raise failed(f"the .metadata of a checkpoint is no {told(found)}")
    return found
