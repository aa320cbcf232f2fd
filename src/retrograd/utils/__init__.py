"""What programs need around a model: data sets and loaders, checkpoints."""

from . import checkpoint, data, deterministic, dlpack, hooks, weak
from .swap import swap_tensors

__all__ = ["checkpoint", "data", "deterministic", "dlpack", "hooks", "swap_tensors", "weak"]
