"""`torch.ops`: operators that programs defined, by namespace and name.

Of PyTorch's own there are `aten`, and those of `profiler` and `higher_order`, which are in graphs.
"""

from __future__ import annotations

import os
from typing import Any

from ...locks import load
from ..names.missing import reason
from .aten import aten
from .custom import OPERATORS

__all__ = ["aten", "load_library", "loaded_libraries"]

# Files of operators compiled for PyTorch, by folder and name, and the module with these operators.
COMPILED = {
    ("lib", "_torchaudio"): "library.audio",
    ("lib", "libtorchaudio"): "library.audio",
    ("torchvision", "_C"): "vision.operators",
    ("torchvision", "image"): "vision.codecs",
}

FOUND = {"higher_order": "_higher_order_ops", "profiler": "library.profiler"}

loaded_libraries: set[str] = set()


def load_library(path: str | os.PathLike[str]) -> None:
    """Define the operators of a file that was compiled for PyTorch, where they are here.

    The file itself is not opened: it calls PyTorch's own functions. Raises OSError for one whose
    operators are not here.
    """
    path = os.fspath(path)
    folder, file = os.path.split(path)
    home = COMPILED.get((os.path.basename(folder), file.partition(".")[0]))
    if home is None:
        raise OSError(
            f"Could not load this library: {path}. It was compiled for PyTorch, whose functions it "
            "calls. Define its operators by retrograd.library.custom_op"
        )
    load(f"..{home}", __package__)
    loaded_libraries.add(path)


def __getattr__(name: str) -> Any:
    """The operators of a namespace; AttributeError where none is defined."""
    if name in OPERATORS:
        return OPERATORS[name]
    if name in FOUND:
        return load(f"..{FOUND[name]}", __package__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{reason(name)}")
