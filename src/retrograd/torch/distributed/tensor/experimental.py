"""Plain tensors beside those over ranks."""

from .api import implicit_replication

__all__ = ["implicit_replication"]
