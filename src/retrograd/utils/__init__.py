"""What programs need around a model: data sets and loaders, checkpoints."""

from . import checkpoint, data, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks"]
