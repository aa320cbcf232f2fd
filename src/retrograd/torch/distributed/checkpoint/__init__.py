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
from .reading import load, load_state_dict
from .stateful import Stateful
from .writing import async_save, save, save_state_dict

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
    "load_state_dict",
    "save",
    "save_state_dict",
    "state_dict",
]
