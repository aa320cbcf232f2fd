"""`torch.accelerator` for programs that choose a device by it: there is no accelerator.

Questions are answered; whoever would use one raises RuntimeError, as PyTorch does without one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..engine.placement import NO_ACCELERATOR

if TYPE_CHECKING:
    from ..engine.placement import device

__all__ = [
    "current_accelerator",
    "current_device_index",
    "device_count",
    "is_available",
    "set_device_index",
    "synchronize",
]


def is_available() -> bool:
    """Whether there is an accelerator: never.

    >>> rg.accelerator.is_available(), rg.accelerator.device_count()
    (False, 0)
    """
    return False


def device_count() -> int:
    """The number of accelerators: 0."""
    return 0


def current_accelerator(check_available: bool = False) -> device | None:
    """The device of the accelerator: None.

    >>> print(rg.accelerator.current_accelerator())
    None
    """
    return None


def current_device_index() -> int:
    """The number of the current accelerator: RuntimeError."""
    raise RuntimeError(NO_ACCELERATOR)


def set_device_index(device: Any) -> None:
    """Choose an accelerator: RuntimeError."""
    raise RuntimeError(NO_ACCELERATOR)


def synchronize(device: Any = None) -> None:
    """Wait for an accelerator: RuntimeError."""
    raise RuntimeError(NO_ACCELERATOR)
