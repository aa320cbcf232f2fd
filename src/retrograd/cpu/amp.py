"""Mixed precision by its older names for the CPU."""

from __future__ import annotations

from typing import Any

from .. import amp
from ..amp.older import warn_older

__all__ = ["GradScaler", "autocast"]


class autocast(amp.autocast):  # noqa: N801 (PyTorch's name)
    """`amp.autocast("cpu")`, by the older name.

    >>> issubclass(rg.cpu.amp.autocast, rg.amp.autocast)
    True
    """

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        warn_older("cpu", "autocast")
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """`amp.GradScaler("cpu")`, by the older name.

    >>> issubclass(rg.cpu.amp.GradScaler, rg.amp.GradScaler)
    True
    """

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warn_older("cpu", "GradScaler")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
