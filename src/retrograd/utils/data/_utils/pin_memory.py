"""Batches in memory that an accelerator reads: they do it themselves, by their `pin_memory()`."""

from __future__ import annotations

from typing import Any

from ....pytree import map_leaves

__all__ = ["pin_memory"]


def pin_memory(data: Any, device: Any = None) -> Any:
    """Nested data with `pin_memory()` called on whatever has it.

    Tensors raise RuntimeError: there is no accelerator to pin their memory for.

    >>> pin_memory({"step": 1, "names": ("a", "b")})
    {'step': 1, 'names': ('a', 'b')}
    """
    return map_leaves(lambda x: x.pin_memory() if hasattr(x, "pin_memory") else x, data)
