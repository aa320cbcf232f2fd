"""`save` and `load`: tensors, and Python data that holds them, in PyTorch's files.

The format is PyTorch's: either opens what the other wrote. What a file may do is told in
`unpickler`, what the names in it stand for in `rebuilding`; archives are in `archive`, and writing
so that a crash leaves the old file in `files`. `reading` tells formats apart. `safetensors` and
`npz` are formats of tensors by name, a module each.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..engine.tensor import device
from . import npz, safetensors
from .archive import archived, get_crc32_options, set_crc32_options
from .files import is_path, write
from .legacy import legacy_parts
from .pickler import pickler_of
from .locations import (
    LoadEndianness,
    default_restore_location,
    get_default_load_endianness,
    location_tag,
    normalize_storage_type,
    placing,
    set_default_load_endianness,
    skip_data,
    skips_data,
)
from .reading import Settings, read, unsafe_names
from .safe import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals

__all__ = [
    "DEFAULT_PROTOCOL", "MAP_LOCATION", "LoadEndianness", "SourceChangeWarning", "add_safe_globals",
    "clear_safe_globals", "default_restore_location", "get_crc32_options",
    "get_default_load_endianness", "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load",
    "location_tag", "normalize_storage_type", "npz", "safe_globals", "safetensors", "save",
    "set_crc32_options", "set_default_load_endianness", "skip_data",
]  # fmt: skip


DEFAULT_PROTOCOL = 2
MAP_LOCATION = Callable[[Any, str], Any] | device | str | dict[str, str] | None


class SourceChangeWarning(Warning):
    """Given by PyTorch where a class has changed since it was saved; here never."""


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write `obj` to `f`, a path or a file opened for writing bytes, in PyTorch's format.

    `obj` is a tensor, or anything pickle can write that holds tensors, such as a `state_dict`.
    Tensors come back as leaves; those that share memory share it again, and a small view of a large
    tensor writes all of it. A path has the old file until the new one is whole.
    Without `_use_new_zipfile_serialization`, the format is that of PyTorch before 1.6.

    Raises TypeError for another `f`. Source: PyTorch's `torch.save`.

    >>> import io
    >>> file = io.BytesIO()
    >>> rg.save({"weight": rg.ones(2)}, file)
    >>> rg.load(io.BytesIO(file.getvalue()))
    {'weight': tensor([1., 1.])}
    """
    kind = pickler_of(pickle_module)
    if not _use_new_zipfile_serialization:
        write(f, legacy_parts(obj, kind, pickle_protocol))
        return
    content = io.BytesIO()
    pickler = kind(content, protocol=pickle_protocol)
    pickler.dump(obj)
    records: list[tuple[str, Any]] = [("data.pkl", content.getbuffer())]
    if not _disable_byteorder_record:
        records.append(("byteorder", sys.byteorder.encode()))
    for kept in pickler.storages.values():
        block = bytes(memoryview(kept.bytes).nbytes) if skips_data() else kept.bytes
        records.append((f"data/{kept.key}", block))
    records.append(("version", b"3\n"))
    folder = Path(os.fspath(f)).stem if is_path(f) else "archive"
    write(f, archived((f"{folder}/{name}", block) for name, block in records))


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Load what `save` (PyTorch's too) wrote, from `f`, a path or a file opened for reading.

    With `weights_only`, as by default, a file holds only tensors, dtypes, NumPy arrays of numbers,
    Python's own data and what `add_safe_globals` allowed; anything else raises
    pickle.UnpicklingError, and nothing is run. With `weights_only=False`, the file can run any
    code: only for files whose source you trust. `mmap=True`, for a path, maps the file: its pages
    are read when they are needed, and writing to the tensors leaves it as it is.

    `map_location` says where storages are to live that were saved from another device: a device,
    its name, a dictionary of names, or a function of a storage and its device's name; the cpu is
    the only one that there is. Of a TorchScript archive the weights come back, as a `state_dict`,
    of a safetensors file its tensors by name.

    Raises RuntimeError for a file that is cut or of another kind, pickle.UnpicklingError for bytes
    of no kind, EOFError for an empty file, TypeError for another `f`.
    Source: PyTorch's `torch.load`.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "x.pt")
    ...     rg.save(rg.ones(2, requires_grad=True), path)
    ...     rg.load(path), rg.load(path, map_location="cpu", mmap=True)
    (tensor([1., 1.], requires_grad=True), tensor([1., 1.], requires_grad=True))
    """
    safely = pickle_module is None if weights_only is None else bool(weights_only)
    if safely and pickle_module is not None:
        raise RuntimeError(
            "Can not safely load weights when explicit pickle_module is specified. Leave it "
            "out, or trust the file: retrograd.load(f, pickle_module=..., weights_only=False)"
        )
    settings = Settings(placing(map_location), safely, pickle_module, pickle_load_args)
    return read(f, settings, bool(mmap))


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The classes and functions in a file that `load` would refuse. No code of the file runs.

    Raises ValueError for a file that is no archive.
    Source: PyTorch's `torch.serialization.get_unsafe_globals_in_checkpoint`.

    >>> import io
    >>> from fractions import Fraction
    >>> file = io.BytesIO()
    >>> rg.save([rg.ones(2), Fraction(1, 2)], file)
    >>> rg.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(file.getvalue()))
    ['fractions.Fraction']
    """
    return unsafe_names(f)
