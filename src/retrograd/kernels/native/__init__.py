"""The parts in C, where they were built: the engine's, and loops: `src/native/loops/loops.c`.

The package is whole without them, and computes the same: NumPy is the only hard need. To leave them
out where they were built, set the environment variable `RETROGRAD_NATIVE=0`.

NOTE [Stale builds]
An extension that does not fit this source is not used. It says in `BUILT_FROM` for which version of
the package it was built and, as a hash, from which C sources, as `setup.py` found them; the
sources are compared where they lie beside the package, which is where they change. Whatever fails,
the package goes on without it, with a warning.

The memory of large arrays that ops make is used again: NOTE [Recycling] in `loops/recycle.c`.
Blocks of 128 KiB and more are kept, 256 MiB in all; `RETROGRAD_RECYCLE=0` turns that off.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from functools import cache
from importlib.util import source_hash
from typing import Any

from ...locks import ONE_AT_A_TIME
from ...quiet import CALM
from ...version import __version__

SOURCES = os.path.join(os.path.dirname(__file__), "..", "..", "..", "native")
REBUILD = (
    "Retrograd's {part} in C is not used, since {why}. Everything works, and is slower. Build it "
    "anew: pip install --force-reinstall --no-deps retrograd, or, in a checkout, "
    "python setup.py build_ext --inplace. To leave it out: RETROGRAD_NATIVE=0 in the environment"
)


@cache
def built_from() -> str:
    """What an extension that fits says it was built from."""
    if not os.path.isfile(os.path.join(SOURCES, "engine", "module.c")):  # an installed package
        return __version__
    sources = []
    for folder, _, names in sorted(os.walk(SOURCES)):
        for name in sorted(name for name in names if name.endswith((".c", ".h"))):
            with open(os.path.join(folder, name), "rb") as file:
                sources.append(file.read())
    return f"{__version__} {source_hash(b''.join(sources)).hex()}"


def load(name: str, part: str) -> Any:
    """The extension of that name, if there is one and it was built from what lies here, or None."""
    if not ONE_AT_A_TIME or os.environ.get("RETROGRAD_NATIVE") == "0":
        return None
    try:
        found = importlib.import_module(name)
        expected = built_from()
        if not f"{found.BUILT_FROM} ".startswith(f"{expected} "):
            raise ImportError(f"it was built from {found.BUILT_FROM}, and this is {expected}")
    except Exception as error:
        if not isinstance(error, ModuleNotFoundError) or error.name != name:
            leave_out(name, part, error)
        return None
    return found


def leave_out(name: str, part: str, error: Exception) -> None:
    """Go on without an extension, and say why."""
    sys.modules.pop(name, None)
    why = f"it could not be set up: {type(error).__name__}: {error}"
    warnings.warn(REBUILD.format(part=part, why=why), RuntimeWarning, stacklevel=3)


loops = load(f"{__package__.rpartition('.')[0]}._loops", "part for large arrays")
if loops is not None and os.environ.get("RETROGRAD_RECYCLE") != "0":
    CALM.run(loops.recycle)
