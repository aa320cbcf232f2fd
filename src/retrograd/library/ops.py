"""`torch.ops` under the alias: operators that programs defined, by namespace and name.

Of PyTorch's own there are `aten`, and those of `profiler`, which programs put into graphs.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ..locks import load
from .aten import aten
from .custom import OPERATORS

__all__ = ["aten"]


def __getattr__(name: str) -> Any:
    """The operators of a namespace; AttributeError where none is defined."""
    if name in OPERATORS:
        return SimpleNamespace(**OPERATORS[name])
    if name == "profiler":
        return load(".profiler", __package__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
