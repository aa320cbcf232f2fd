"""The memory of accelerators, of which there are none: RuntimeError, as in PyTorch without one.

>>> rg.accelerator.memory.memory_allocated()
Traceback (most recent call last):
    ...
RuntimeError: Cannot access accelerator device when none is available...
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ...engine.placement import NO_ACCELERATOR
from ..tables import define


def refuse() -> NoReturn:
    """Raise RuntimeError: there is no accelerator."""
    raise RuntimeError(NO_ACCELERATOR)


NAMES = (
    "empty_cache empty_host_cache get_memory_info max_memory_allocated max_memory_reserved "
    "memory_allocated memory_reserved memory_stats reset_accumulated_memory_stats "
    "reset_peak_memory_stats"
)

FUNCTIONS: dict[str, Any] = {
    name: (
        lambda device=None, /: refuse(),
        "Ask about an accelerator's memory: RuntimeError.",
    )
    for name in NAMES.split()
}
define(globals(), FUNCTIONS)
__all__ = list(FUNCTIONS)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the functions of the table
