"""The warning of the older names of mixed precision, `cuda.amp` and `cpu.amp`."""

from __future__ import annotations

import warnings

from .. import version

__all__ = ["warn_older"]


def warn_older(device: str, name: str) -> None:
    """Say that a caller's caller uses the older name of `amp.<name>`."""
    warnings.warn(
        f"`{version.called}.{device}.amp.{name}(args...)` is deprecated. Please use "
        f"`{version.called}.amp.{name}` with the device {device!r} instead.",
        FutureWarning,
        stacklevel=3,
    )
