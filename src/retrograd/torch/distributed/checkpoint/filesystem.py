"""Checkpoints in folders: a file for each rank, and `.metadata`, which is written last.

NOTE [Whole checkpoints]
1. Files are whole and on the disk before they take their names, and no save writes to a file that
   is there. So until `.metadata` takes its name the folder holds the checkpoint that was there.
2. Then the files are removed that were there before this save and are not named in `.metadata`,
   among them those that a killed save has left.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ....serialization.files import replacing
from .metadata import CheckpointException, Metadata, packed, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .metadata import StorageInfo

__all__ = ["FileSystemReader", "FileSystemWriter"]

METADATA = ".metadata"


class FileSystemWriter:
    """Writes checkpoints to the folder `path`, which it makes.

    overwrite: False raises CheckpointException where a checkpoint is there already; it is replaced
    at once and as a whole otherwise: NOTE [Whole checkpoints].

    >>> import tempfile
    >>> from retrograd.distributed import checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     writer, state = checkpoint.FileSystemWriter(folder), {"x": rg.zeros(2)}
    ...     said = checkpoint.save({"x": rg.ones(2)}, storage_writer=writer)
    ...     checkpoint.load(state, storage_reader=checkpoint.FileSystemReader(folder)); state
    {'x': tensor([1., 1.])}
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        *,
        overwrite: bool = True,
    ) -> None:
        if not (single_file_per_rank and sync_files):
            raise ValueError("each rank writes one file, and flushes it: leave these arguments out")
        self.path, self.overwrite = Path(path), overwrite
        self.before: list[Path] = []

    def prepare(self) -> None:
        """Make the folder; raise CheckpointException where it may not be overwritten."""
        if (self.path / METADATA).exists() and not self.overwrite:
            raise CheckpointException(
                f"a checkpoint is at {self.path} already: pass overwrite=True or another path"
            )
        self.path.mkdir(parents=True, exist_ok=True)
        self.before = [*self.path.glob("*.distcp*"), *self.path.glob(f".{METADATA}.*")]

    def write(self, name: str, parts: Iterable[bytes]) -> None:
        """Write a file of the folder."""
        with replacing(self.path / name) as file:
            file.writelines(parts)

    def finish(self, metadata: Metadata) -> None:
        """Write what makes the folder a checkpoint, and remove what is no part of it."""
        self.write(METADATA, [packed(metadata)])
        named = {info.relative_path for info in metadata.storage_data.values()}
        for path in self.before:
            if path.name not in named:
                path.unlink(missing_ok=True)


class FileSystemReader:
    """Reads checkpoints from the folder `path`, PyTorch's or this package's; nothing in it is run.

    Raises CheckpointException for a folder without one.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def read_metadata(self) -> Metadata:
        """What the checkpoint says of itself."""
        place = self.path / METADATA
        if not place.is_file():
            raise CheckpointException(f"no checkpoint is at {self.path}: it has no file {METADATA}")
        return unpacked(place.read_bytes())

    def read(self, info: StorageInfo) -> bytes:
        """The bytes of one block."""
        name = info.relative_path
        if Path(name).name != name:
            raise CheckpointException(f"the files of a checkpoint are in its folder, got {name!r}")
        with (self.path / name).open("rb") as file:
            file.seek(info.offset)
            return file.read(info.length)
