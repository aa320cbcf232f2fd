"""Array programs as native code, by LLVM: what is done with a large array in one loop.

It needs `llvmlite`, which `pip install retrograd[fast]` brings; without, NumPy computes everything.
`explain` says what runs as a kernel, and what does not, and why. `compile`, which records whole
steps of programs, is in `capture`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .report import explain

__all__ = ["explain"]


def __getattr__(name: str) -> Any:
    if name == "explain":
        return importlib.import_module(".report", __package__).explain
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
