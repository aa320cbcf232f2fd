"""Mixed precision by its older names for the CPU."""

from __future__ import annotations

from typing import Any

from .. import amp
from ..amp.older import OlderScaler, warn_older

__all__ = ["GradScaler", "autocast"]


class autocast(amp.autocast):  # noqa: N801 (PyTorch's name)
    """`amp.autocast("cpu")`, by the older name.

    >>> issubclass(rg.cpu.amp.autocast, rg.amp.autocast)
    True
    """

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        warn_older("cpu", "autocast")
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(OlderScaler):
    """`amp.GradScaler("cpu")`, by the older name.

    >>> issubclass(rg.cpu.amp.GradScaler, rg.amp.GradScaler)
    True
    """

    kind = "cpu"
