"""What programs need around a model: data sets and loaders, checkpoints."""

from __future__ import annotations

from typing import Any

from ..locks import load as _load
from . import checkpoint, data, deterministic, dlpack, hooks, weak
from ..ops.tensor.swap import swap_tensors

__all__ = ["checkpoint", "data", "deterministic", "dlpack", "hooks", "swap_tensors", "weak"]

# Modules that load when they are first asked for.
LATER = ("_contextlib", "_foreach_utils", "_python_dispatch", "_pytree", "flop_counter")


def __getattr__(name: str) -> Any:
    """Load a module when it is first asked for."""
    if name in LATER:
        return _load(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
