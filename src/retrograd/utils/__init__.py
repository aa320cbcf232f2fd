"""What programs need around a model: data sets and loaders, checkpoints."""

from . import checkpoint, data, deterministic, dlpack, hooks

__all__ = ["checkpoint", "data", "deterministic", "dlpack", "hooks"]
