"""What programs need around a model: data sets and loaders, checkpoints."""

from __future__ import annotations

from typing import Any

from .. import providers
from . import checkpoint, data, hooks
from ..ops.tensor.swap import swap_tensors

__all__ = ["checkpoint", "data", "hooks", "swap_tensors"]


def __getattr__(name: str) -> Any:
    """Load a module of PyTorch's world when it is asked for."""
    return providers.attribute(__name__, name)


def __dir__() -> list[str]:
    return providers.listed(__name__)
