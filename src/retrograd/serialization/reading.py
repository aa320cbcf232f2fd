"""Reading files: which format one has, and by which unpickler it is read."""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np

from ..locks import load
from . import safetensors, scripted
from .archive import Allowance, Archive, broken
from .files import Mapped, Source, is_path, opened
from .legacy import Legacy
from .locations import order_by_default, skips_data
from .rebuilding import Rebuilding
from .safe import name_here
from .unpickler import Blind, Inert, Lookup, Unpickler

__all__ = ["Settings", "data_pickle", "read", "unsafe_names"]

ZIP, SAFETENSORS, TAR = b"PK\3\4", b'{"', b"ustar"
SCRIPT = (
    "the file is a TorchScript archive. Its program is not run here: load() gives its weights, as "
    "a state_dict"
)
NO_PATH = "f must be a file path in order to use the mmap argument, not {kind}"
NO_MAP = (
    "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True)`,"
    " please torch.save your checkpoint with this option in order to use mmap."
)
NUMPYS = "the file is an archive of NumPy's. Read it by retrograd.serialization.npz.load_file(path)"
NO_TAR = (
    "the file is a tar archive, as PyTorch wrote before version 0.1.10. Load it there, with "
    "weights_only=False, and save it again."
)

RENAMED = {"NonDynamicallyQuantizableLinear": "Linear"}  # of attention; else the same


class Settings:
    """How a file is to be read."""

    def __init__(
        self, place: Callable[[Any, str], Any], safely: bool, module: Any, options: dict[str, Any]
    ) -> None:
        self.place, self.safely, self.module = place, safely, module or pickle
        self.options = {"encoding": "utf-8", **options}

    def data(self, file: Any, size: int, lookup: Lookup) -> Any:
        """What one pickle holds, of data and what the user allowed alone."""
        return Unpickler(file, size, lookup, self.options["encoding"]).load()

    def unpickle(self, file: Any, size: int, lookup: Rebuilding) -> Any:
        """What one pickle holds; with `weights_only=False`, by running what it says."""
        if self.safely:
            return self.data(file, size, lookup)
        lookup.trusting = True
        return trusting(self.module, lookup)(file, **self.options).load()


def trusting(module: Any, lookup: Rebuilding) -> type[Any]:
    """An unpickler that runs whatever a file says, and knows PyTorch's names as this package's."""

    class Trusting(module.Unpickler):  # type: ignore[misc]
        def find_class(self, module: str, name: str) -> Any:
            if module.partition(".")[0] not in ("torch", "retrograd"):
                return super().find_class(module, name)
            found = lookup.known(f"{module}.{name}")
            return found if found is not None else here(module, name)

        def persistent_load(self, key: Any) -> Any:
            return lookup.persistent(key)

    return Trusting


def here(module: str, name: str) -> Any:
    """A class or function of this package that a file calls by PyTorch's name or by its own."""
    name = RENAMED.get(name, name)
    homes = [name_here(f"{module}.")[:-1] if module != "torch" else "retrograd"]
    if module.startswith("torch.nn.modules."):
        homes.append("retrograd.nn")
    for home in homes:
        try:
            found = load(home)
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError):
            continue
        return found
    raise pickle.UnpicklingError(f"the file uses {module}.{name}, which is not here")


def read(f: Any, settings: Settings, mmap: bool) -> Any:
    """The object that a file holds, whatever its format."""
    if mmap and not is_path(f):
        raise ValueError(NO_PATH.format(kind=type(f).__name__))
    with opened(f) as file:
        source = Mapped(file) if mmap else Source(file)
        begins = source.bytes(0, min(source.size, 264))
        file.seek(source.start)
        if not begins:
            raise EOFError("Ran out of input: the file is empty")
        if begins.startswith(ZIP):
            return read_archive(Archive(source), settings)
        if begins[8:10] == SAFETENSORS:
            return safetensors.read(source)
        if mmap:
            raise RuntimeError(NO_MAP)
        if begins[257:262] == TAR:
            raise RuntimeError(NO_TAR)
        return read_legacy(source, settings)


def read_legacy(source: Source, settings: Settings) -> Any:
    """What a file of PyTorch's format before archives holds."""
    with closing(Legacy(settings.place, source.size)) as known:
        return known.load(
            source.file,
            lambda lookup: settings.data(source.file, source.size, lookup),
            lambda: settings.unpickle(source.file, source.size, known),
        )


def data_pickle(archive: Archive) -> str:
    """What the names of all records of PyTorch's begin with."""
    names = [name for name in archive.records if name.count("/") == 1]
    found = [name[:-8] for name in names if name.endswith("/data.pkl")]
    if len(found) != 1:
        if any(name.endswith(".npy") for name in archive.records):
            raise RuntimeError(NUMPYS)
        raise broken(f"file not found: it has {len(found)} records data.pkl, and should have one")
    return found[0]


def read_archive(archive: Archive, settings: Settings) -> Any:
    """What an archive of PyTorch's holds, or the weights of a TorchScript one."""
    prefix = data_pickle(archive)
    marked = f"{prefix}byteorder" in archive
    order = archive.bytes(f"{prefix}byteorder").decode("latin-1") if marked else order_by_default()
    if order not in ("little", "big"):
        raise ValueError(f"Unknown endianness type: {order!r:.50}")

    def storage(name: str, size: int) -> Any:
        if f"{prefix}data/{name}" not in archive:
            raise broken(f"file not found: a tensor has its memory in data/{name}")
        if skips_data():
            return np.zeros(size, np.uint8)
        return archive.memory(f"{prefix}data/{name}")

    scripts = f"{prefix}constants.pkl" in archive
    kind = scripted.Scripts if scripts else Rebuilding
    content = archive.memory(f"{prefix}data.pkl")
    file = io.BytesIO(content)
    with closing(kind(storage, settings.place, archive.allowance, order)) as known:
        if not scripts:
            return settings.unpickle(file, content.size, known)
        warnings.warn(SCRIPT, UserWarning, stacklevel=4)
        return scripted.weights_of(settings.data(file, content.size, known))


# -- questions ---------------------------------------------------------------------------------


class Survey(Blind):
    """Notes the names in a pickle that are not allowed."""

    def __init__(self) -> None:
        self.known = Rebuilding(Inert, Inert, Allowance(0))
        self.found: dict[str, None] = {}

    def find(self, module: str, name: str) -> Any:
        """What stands for all that could be called so."""
        try:
            self.known.find(module, name)
        except (pickle.UnpicklingError, RuntimeError):
            self.found[f"{module}.{name}"] = None
        return Inert


def unsafe_names(f: Any) -> list[str]:
    """The names in a file that are not allowed."""
    with opened(f) as file:
        source = Source(file)
        if source.bytes(0, min(4, source.size)) != ZIP:
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        archive = Archive(source)
        content = archive.bytes(f"{data_pickle(archive)}data.pkl")
        survey = Survey()
        Unpickler(io.BytesIO(content), len(content), survey).load()
        return list(survey.found)
