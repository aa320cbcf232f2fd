"""Checkpoints that several processes write and read together: `torch.distributed.checkpoint`."""

from . import format_utils, state_dict
from .filesystem import FileSystemReader, FileSystemWriter
from .metadata import (
    BytesStorageMetadata,
    CheckpointException,
    ChunkStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)
from .reading import load
from .stateful import Stateful
from .writing import async_save, save

__all__ = [
    "BytesStorageMetadata",
    "CheckpointException",
    "ChunkStorageMetadata",
    "FileSystemReader",
    "FileSystemWriter",
    "Metadata",
    "Stateful",
    "TensorStorageMetadata",
    "async_save",
    "format_utils",
    "load",
    "save",
    "state_dict",
]
