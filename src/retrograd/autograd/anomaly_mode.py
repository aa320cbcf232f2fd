"""Anomaly mode: errors of a backward pass name the forward line, and NaN gradients are errors."""

from __future__ import annotations

import warnings

from .. import modes
from ..errors import check_bool

__all__ = [
    "detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_detect_anomaly",
]  # fmt: skip

ENABLED = (
    "Anomaly Detection has been enabled. This mode will increase the runtime and should only be "
    "enabled for debugging."
)


def is_anomaly_enabled() -> bool:
    """Whether the calling thread is in anomaly mode."""
    return modes.state.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether NaN gradients are errors in anomaly mode."""
    return modes.state.check_nan


class set_detect_anomaly:  # noqa: N801 (PyTorch's name)
    """Turn anomaly mode on or off for this thread; in a `with`, until its end.

    A graph recorded in this mode remembers where each operation ran; a backward pass in this mode
    adds that to whatever error a node raises. With `check_nan`, a node whose gradients contain NaN
    raises RuntimeError. Source: PyTorch's `autograd.set_detect_anomaly`.

    >>> with rg.autograd.set_detect_anomaly(True):
    ...     rg.autograd.anomaly_mode.is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        check_bool(mode, "set_anomaly_enabled", "enabled")
        check_bool(check_nan, "set_anomaly_enabled", "check_nan", 2)
        self.before = modes.change(anomaly=mode, check_nan=check_nan)

    def __enter__(self) -> None:
        """Nothing is left to do: the mode is set."""

    def __exit__(self, *exc: object) -> None:
        modes.restore(self.before)


class detect_anomaly:  # noqa: N801 (PyTorch's name)
    """A context in anomaly mode, which shows where an error comes from: `set_detect_anomaly`. Slow.

    Source: PyTorch's `autograd.detect_anomaly`.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"), rg.autograd.detect_anomaly():
    ...     rg.autograd.anomaly_mode.is_anomaly_enabled()
    True
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warnings.warn(ENABLED, UserWarning, stacklevel=2)

    def __enter__(self) -> None:
        self.before = modes.change(anomaly=True, check_nan=self.check_nan)

    def __exit__(self, *exc: object) -> None:
        modes.restore(self.before)
