"""Files as they are read and written: ranges of bytes, whole or not at all.

NOTE [Whole files]
1. A path is written to a new file beside it, which is flushed to the disk and then takes its name.
   Whoever reads the path meanwhile, or after a crash, has the old file; who has mapped it keeps it.
2. What is no ordinary file (a pipe, a terminal) is written as it comes, and so is a file that the
   caller opened. A link is followed, and permissions stay.
3. Nothing is allocated for bytes that a file only claims to have: `Source` knows its size.
"""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..locks import load

__all__ = ["CUT", "Mapped", "Source", "is_path", "opened", "replacing", "write"]

CUT = (
    "the file ends early: it has {has} bytes and should have at least {needs}. It was not written "
    "to its end, or it was cut."
)


def is_path(f: Any) -> bool:
    """Whether `f` names a file."""
    return isinstance(f, (str, os.PathLike))


# -- writing -----------------------------------------------------------------------------------


def write(f: Any, parts: Iterable[Any]) -> None:
    """Write bytes, part by part, to a path (NOTE [Whole files]) or a file opened for writing."""
    if is_path(f):
        with replacing(Path(os.fspath(f))) as file:
            file.writelines(parts)
    elif hasattr(f, "write"):
        for part in parts:
            f.write(part)
    else:
        raise TypeError(f"expected a path or a file opened for writing, got {type(f).__name__}")


@contextmanager
def replacing(path: Path) -> Iterator[Any]:
    """A file that takes the place of `path` once it is whole."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise RuntimeError(f"Parent directory {target.parent} does not exist. Make it first")
    if target.is_dir():
        raise RuntimeError(f"{target} is a directory. Add the name of a file in it")
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    waiting = target.with_name(f".{target.name[:200]}.{secrets.token_hex(8)}")
    try:
        with waiting.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            waiting.chmod(target.stat().st_mode & 0o7777)
        waiting.replace(target)
    except BaseException:
        waiting.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """See to it that the new name is on the disk, too, where a folder can be read and flushed."""
    if hasattr(os, "O_DIRECTORY"):
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


# -- reading -----------------------------------------------------------------------------------


class Source:
    """The bytes of an open file from where it stands to its end."""

    mapped = False  # whether memory given out is the file's own

    def __init__(self, file: Any) -> None:
        self.file = file
        self.start = file.tell()
        self.size = file.seek(0, os.SEEK_END) - self.start
        file.seek(self.start)

    def check(self, offset: int, size: int) -> None:
        """Raise RuntimeError for a range that the file does not have."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise RuntimeError(CUT.format(has=self.size, needs=offset + size))

    def bytes(self, offset: int, size: int) -> bytes:
        """`size` bytes from `offset` on."""
        self.check(offset, size)
        self.file.seek(self.start + offset)
        return exactly(self.file, size)

    def memory(self, offset: int, size: int) -> Any:
        """`size` bytes from `offset` on, as a flat array of its own that may be written."""
        self.check(offset, size)
        room = np.empty(size, np.uint8)
        self.file.seek(self.start + offset)
        fill(self.file, room)
        return room


class Mapped(Source):
    """The bytes of a file that is mapped: pages are read when touched, and copied when written."""

    mapped = True

    def __init__(self, file: Any) -> None:
        super().__init__(file)
        mmap = load("mmap")  # which a browser does not have
        self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) if self.size else b""

    def memory(self, offset: int, size: int) -> Any:
        """The file's own pages, as a flat array."""
        self.check(offset, size)
        return np.frombuffer(self.map, np.uint8, size, offset) if size else np.empty(0, np.uint8)


def exactly(file: Any, size: int) -> bytes:
    """The next `size` bytes."""
    content = file.read(size)
    while len(content) < size:
        part = file.read(size - len(content))
        if not part:
            raise RuntimeError(CUT.format(has=len(content), needs=size))
        content += part
    return content  # type: ignore[no-any-return]


def fill(file: Any, room: Any) -> None:
    """Read the next bytes into a flat array, all of it."""
    done = 0
    while done < room.size:
        if hasattr(file, "readinto"):
            count = file.readinto(room[done:])
        else:
            part = file.read(room.size - done)
            count = len(part)
            room[done : done + count] = np.frombuffer(part, np.uint8)
        if not count:
            raise RuntimeError(CUT.format(has=done, needs=room.size))
        done += count


@contextmanager
def opened(f: Any) -> Iterator[Any]:
    """`f`, a path or a file opened for reading, as a file that can be read anywhere."""
    if not is_path(f) and not hasattr(f, "read"):
        raise TypeError(f"expected a path or a file opened for reading, got {type(f).__name__}")
    with open(f, "rb") if is_path(f) else nullcontext(f) as file:
        seekable = getattr(file, "seekable", lambda: hasattr(file, "seek"))()
        yield file if seekable else io.BytesIO(file.read())
