"""The memory of accelerators, of which there are none: RuntimeError, as in PyTorch without one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ...engine.placement import NO_ACCELERATOR

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "empty_cache",
    "empty_host_cache",
    "get_memory_info",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
]


def _absent(name: str) -> Callable[..., Any]:
    """A function of this name, which needs an accelerator."""

    def absent(device: Any = None, /) -> NoReturn:
        """Ask an accelerator about its memory: RuntimeError.

        >>> rg.accelerator.memory.memory_allocated()
        Traceback (most recent call last):
        ...
        RuntimeError: Cannot access accelerator device when none is available...
        """
        raise RuntimeError(NO_ACCELERATOR)

    absent.__name__ = absent.__qualname__ = name
    return absent


empty_cache = _absent("empty_cache")
empty_host_cache = _absent("empty_host_cache")
get_memory_info = _absent("get_memory_info")
max_memory_allocated = _absent("max_memory_allocated")
max_memory_reserved = _absent("max_memory_reserved")
memory_allocated = _absent("memory_allocated")
memory_reserved = _absent("memory_reserved")
memory_stats = _absent("memory_stats")
reset_accumulated_memory_stats = _absent("reset_accumulated_memory_stats")
reset_peak_memory_stats = _absent("reset_peak_memory_stats")
