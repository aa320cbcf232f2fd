"""The hot path in C, where it was built: NOTE [Native] in `src/native/module.c`.

The package is whole without it, and computes the same: NumPy is the only hard need. To leave it
out where it was built, set the environment variable `RETROGRAD_NATIVE=0`.

NOTE [Stale builds]
An extension that does not fit this source is not used. It says in `BUILT_FROM` for which version of
the package it was built and, as a checksum, from which C sources, as `setup.py` found them; the
sources are compared where they lie beside the package, which is where they change. `setup` takes
the engine's parts, slots and numbers by name, all of them and no others, so that nothing is counted
in both languages. Whatever fails, the package goes on without it, with a warning, and `native` is
None.

NOTE [Twins]
`in_c` gives a function of the engine its twin in C, under the same name. The twin keeps the
function, and calls it for whatever is not plain; before `bind`, or where that failed, for
everything. So no module is changed after its import.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
import zlib
from typing import TYPE_CHECKING, Any, TypeVar

from ..locks import ONE_AT_A_TIME
from ..version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["bind", "in_c", "native"]

F = TypeVar("F", bound="Callable[..., Any]")

NAME = f"{__package__}._native"
SOURCES = os.path.join(os.path.dirname(__file__), "..", "..", "native")
REBUILD = (
    "Retrograd's hot path in C is not used, since {why}. Everything works, and is slower. Build it "
    "anew: pip install --force-reinstall --no-deps retrograd, or, in a checkout, "
    "python setup.py build_ext --inplace. To leave it out: RETROGRAD_NATIVE=0 in the environment"
)

native: Any = None


def built_from() -> str:
    """What an extension that fits says it was built from."""
    if not os.path.isfile(os.path.join(SOURCES, "module.c")):  # an installed package
        return __version__
    sum_of_all = 0
    for name in sorted(name for name in os.listdir(SOURCES) if name.endswith((".c", ".h"))):
        with open(os.path.join(SOURCES, name), "rb") as file:
            sum_of_all = zlib.crc32(file.read(), sum_of_all)
    return f"{__version__} {sum_of_all:08x}"


def load() -> None:
    """Import the extension, if there is one and it was built from what lies here."""
    global native
    try:
        found = importlib.import_module(NAME)
        expected = built_from()
        if not f"{found.BUILT_FROM} ".startswith(f"{expected} "):
            raise ImportError(f"it was built from {found.BUILT_FROM}, and this is {expected}")
        native = found
    except Exception as error:
        if not isinstance(error, ModuleNotFoundError) or error.name != NAME:
            leave_out(error)


def bind(**parts: Any) -> None:
    """Let the extension find the parts of the engine, if there is one that fits."""
    try:
        if native is not None:
            native.setup(**parts)
    except Exception as error:
        leave_out(error)


def in_c(function: F) -> F:
    """The twin of `function` in C, where that was built: NOTE [Twins]."""
    try:
        return function if native is None else native.twin(function)  # type: ignore[no-any-return]
    except Exception as error:
        leave_out(error)
        return function


def leave_out(error: Exception) -> None:
    """Go on without the extension, and say why."""
    global native
    native = None
    sys.modules.pop(NAME, None)
    why = f"it could not be set up: {type(error).__name__}: {error}"
    warnings.warn(REBUILD.format(why=why), RuntimeWarning, stacklevel=2)


if ONE_AT_A_TIME and os.environ.get("RETROGRAD_NATIVE") != "0":
    load()
