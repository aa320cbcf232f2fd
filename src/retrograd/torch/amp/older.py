"""The older names of mixed precision, `cuda.amp` and `cpu.amp`: their warning, their scaler."""

from __future__ import annotations

import warnings

from ... import version
from .grad_scaler import GradScaler

__all__ = ["OlderScaler", "warn_older"]


def warn_older(device: str, name: str) -> None:
    """Say that a caller's caller uses the older name of `amp.<name>`."""
    warnings.warn(
        f"`{version.called}.{device}.amp.{name}(args...)` is deprecated. Please use "
        f"`{version.called}.amp.{name}` with the device {device!r} instead.",
        FutureWarning,
        stacklevel=3,
    )


class OlderScaler(GradScaler):
    """`GradScaler` by its older name, for the device `kind`."""

    kind: str

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warn_older(self.kind, "GradScaler")
        settings = (init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        super().__init__(self.kind, *settings)
