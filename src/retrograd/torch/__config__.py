"""What this installation computes with, and what is missing: PyTorch's `torch.__config__`."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
import textwrap
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..compiler.door import AVAILABLE
from ..engine import native
from ..kernels.native import loops, threads
from ..locks import ONE_AT_A_TIME
from ..version import __version__

__all__ = ["Part", "parallel_info", "parts", "show"]

BUILD = "pip install --force-reinstall --no-deps --no-binary retrograd --verbose retrograd"
EXTENSIONS = (
    ("graph in C", "retrograd.engine._native", native.native),
    ("loops in C", "retrograd.kernels._loops", loops),
)
NO_COMPILER = (
    "There is no C compiler. Install gcc: apt install gcc, dnf install gcc, or xcode-select "
    "--install on a Mac. Then:"
)
FAST = "pip install retrograd[fast]"


class Part(NamedTuple):
    """A part of the installation: its state, and what to do where it is broken or missing."""

    name: str
    state: str
    advice: str = ""
    broken: bool = False


def parts() -> list[Part]:
    """What there is of Retrograd and of what it stands on.

    Each is (name, state, advice, broken). A part in C is broken that could not be built, or was
    built and cannot be used; what is merely not installed is not.

    >>> rg.__config__.parts()[0].name
    'retrograd'
    """
    where = str(Path(__file__).parents[1])
    return [
        Part("retrograd", f"{__version__} in {where}"),
        Part("Python", f"{platform.python_version()} on {sys.platform}, {platform.machine()}"),
        Part("NumPy", np.__version__),
        Part("BLAS of NumPy", blas()),
        *(extension(*each) for each in EXTENSIONS),
        kernels(),
        library("scipy", "special functions, Sobol points"),
        library("ml_dtypes", "bfloat16"),
        Part("threads", f"{threads.threads()} of {threads.available()} available"),
    ]


def show() -> str:
    """The parts of this installation, one a line.

    >>> print(rg.__config__.show())  # doctest: +ELLIPSIS
    retrograd      ...
    Python         ...
    """
    return "\n".join(f"{part.name:15}{part.state}" for part in parts())


def parallel_info() -> str:
    """How many threads compute, and what was asked for, one a line.

    >>> print(rg.__config__.parallel_info())  # doctest: +ELLIPSIS
    threads for loops in C: ...
    """
    asked = ("RETROGRAD_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    lines = [f"{name}: {os.environ.get(name, 'not set')}" for name in asked]
    count = min(threads.threads(), threads.available()) if loops else 1
    return "\n".join([f"threads for loops in C: {count}", f"BLAS of NumPy: {blas()}", *lines])


def blas() -> str:
    """The library by which NumPy multiplies matrices, as NumPy's build says."""
    built = np.show_config(mode="dicts") or {}
    found = built.get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()


def extension(name: str, module: str, used: object) -> Part:
    """The state of a part in C."""
    if used is not None:
        return Part(name, "active")
    if os.environ.get("RETROGRAD_NATIVE") == "0":
        return Part(name, "left out: RETROGRAD_NATIVE=0 is set")
    if not ONE_AT_A_TIME:
        return Part(name, "left out: this interpreter has no global lock")
    if importlib.util.find_spec(module) is not None:
        return Part(name, "built, and not used: see the warning at the import", BUILD, True)
    note = Path(__file__).parents[1].joinpath(*module.split(".")[1:]).with_suffix(".failed")
    how = BUILD if has_compiler() else f"{NO_COMPILER}\n    {BUILD}"
    if note.exists():
        why = textwrap.shorten(note.read_text(), 120)
        return Part(name, "its build failed", f"{why}\n    {how}", True)
    return Part(name, "not built: this is the pure package", how)


def has_compiler() -> bool:
    """Whether there is a C compiler."""
    named = os.environ.get("CC", "cc").split()[:1]
    return any(shutil.which(name) for name in (*named, "gcc", "clang"))


def kernels() -> Part:
    """The state of the compiler for large arrays."""
    if not AVAILABLE and os.environ.get("RETROGRAD_COMPILE") == "0":
        return Part("kernels", "left out: RETROGRAD_COMPILE=0 is set")
    return library("llvmlite", "compiled kernels for large arrays", "kernels")


def library(package: str, use: str, name: str = "") -> Part:
    """The state of an optional library."""
    if importlib.util.find_spec(package) is None:
        return Part(name or package, f"{package} is not installed: {use}", FAST)
    return Part(name or package, f"{package} {metadata.version(package)}: {use}")


def _cxx_flags() -> str:
    """The options of the C++ compiler: there was none."""
    return ""
