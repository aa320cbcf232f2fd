"""The older names of mixed precision, `cuda.amp` and `cpu.amp`: those of `amp` for one device."""

from __future__ import annotations

import warnings
from typing import Any

from ... import version
from .autocast_mode import autocast as Autocast
from .grad_scaler import GradScaler as Scaler

__all__ = ["older", "warn_older"]


def warn_older(device: str, name: str) -> None:
    """Say that a caller's caller uses the older name of `amp.<name>`."""
    warnings.warn(
        f"`{version.called}.{device}.amp.{name}(args...)` is deprecated. Please use "
        f"`{version.called}.amp.{name}` with the device {device!r} instead.",
        FutureWarning,
        stacklevel=3,
    )


def older(kind: str, default: Any, module: str) -> tuple[type[Autocast], type[Scaler]]:
    """The older `autocast`, to the dtype `default`, and `GradScaler` of a kind of device."""

    class autocast(Autocast):  # noqa: N801 (PyTorch's name)
        def __init__(
            self, enabled: bool = True, dtype: Any = default, cache_enabled: bool = True
        ) -> None:
            warn_older(kind, "autocast")
            super().__init__(kind, dtype, enabled, cache_enabled)

    class GradScaler(Scaler):
        def __init__(
            self,
            init_scale: float = 65536.0,
            growth_factor: float = 2.0,
            backoff_factor: float = 0.5,
            growth_interval: int = 2000,
            enabled: bool = True,
        ) -> None:
            warn_older(kind, "GradScaler")
            settings = (init_scale, growth_factor, backoff_factor, growth_interval, enabled)
            super().__init__(kind, *settings)

    for made in (autocast, GradScaler):
        made.__doc__ = (
            f"""`amp.{made.__name__}("{kind}")`, by the older name, with a FutureWarning."""
        )
        made.__module__, made.__qualname__ = module, made.__name__
    return autocast, GradScaler
