"""Built kernels on disk, so that each is built once on a machine.

NOTE [Cache]
1. The directory is `RETROGRAD_CACHE`, or `retrograd` in the user's cache directory. An entry is
   code, which will run; so the directory, and what is in it, must belong to the user, and nobody
   else may write there: else it is left unused, as where it cannot be made.
2. An entry's name is the digest of all that it was built from: the program, what its inputs are,
   the host, the compiler's sources. It begins with a digest of the object, whose key is the name;
   whatever does not fit, broken or foreign, is built anew.
3. Entries are written elsewhere and then renamed. So two processes may fill the directory at once,
   and whoever is killed leaves no half of an entry under its name.
4. They take MOST bytes at most, give or take what processes write before they next look: at their
   first entry, and after every `OFTEN`. Then the entries that were not used for longest go, and
   what killed processes left. Whoever has one of them open keeps it; whoever comes later builds it
   anew. Files under other names are none of the cache's, and stay.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import sys
import tempfile
from functools import cache
from itertools import count
from pathlib import Path

__all__ = ["digest", "read", "write"]

SIZE = 32  # bytes of a digest
MOST, OFTEN = 128 << 20, 256  # some ten thousand entries
ENTRY = re.compile(r"k[0-9a-f]{32}(\.\w+)?")  # or, with an ending, one that is being written

written = count()


@cache
def sources() -> bytes:
    """The digest of the compiler's own sources."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.blake2b(b"".join(path.read_bytes() for path in files), digest_size=SIZE).digest()


def digest(*parts: str) -> str:
    """The name of what is built from these parts by these sources."""
    text = "\0".join(parts).encode()
    return hashlib.blake2b(text, digest_size=SIZE // 2, key=sources()).hexdigest()


def home() -> Path:
    """The directory, which may not be there."""
    named = os.environ.get("RETROGRAD_CACHE")
    if named:
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "~")).expanduser() / "retrograd" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "retrograd"


def private(path: Path) -> bool:
    """Whether this is a file or directory of the user's, and nobody else's to write."""
    if not hasattr(os, "geteuid"):
        return True
    facts = path.lstat()
    plain = stat.S_ISREG(facts.st_mode) or stat.S_ISDIR(facts.st_mode)  # no link, no pipe
    others = facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return plain and facts.st_uid == os.geteuid() and not others


def seal(name: str, built: bytes) -> bytes:
    """The checksum with which an entry begins."""
    return hashlib.blake2b(built, digest_size=SIZE, key=name.encode()).digest()


def read(name: str) -> bytes | None:
    """The object of that name, None where there is none that fits."""
    path = home() / name
    try:
        if not (private(path.parent) and private(path)):
            return None
        held = path.read_bytes()
        with contextlib.suppress(OSError):  # a file system that may only be read
            os.utime(path)
    except (OSError, RuntimeError):  # no such file; no home
        return None
    built = held[SIZE:]
    return built if held[:SIZE] == seal(name, built) else None


def bound(folder: Path) -> None:
    """Remove the entries that were not used for longest, so that there is room for others again."""
    with os.scandir(folder) as files:
        entries = [file for file in files if ENTRY.fullmatch(file.name)]
    facts = []
    for entry in entries:
        with contextlib.suppress(OSError):  # another process has removed it
            found = entry.stat(follow_symlinks=False)
            facts.append((found.st_mtime_ns, found.st_size, entry.path))
    total = sum(size for _, size, _ in facts)
    if total <= MOST:
        return
    for _, size, path in sorted(facts):
        with contextlib.suppress(OSError):
            Path(path).unlink()
        total -= size
        if total <= MOST * 3 // 4:
            return


def write(name: str, built: bytes) -> None:
    """Keep an object, where that is possible."""
    with contextlib.suppress(OSError, RuntimeError):
        folder = home()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not private(folder):
            return
        if not next(written) % OFTEN:
            bound(folder)
        handle, made = tempfile.mkstemp(dir=folder, prefix=f"{name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(seal(name, built) + built)
            Path(made).replace(folder / name)
        except OSError:
            Path(made).unlink()
