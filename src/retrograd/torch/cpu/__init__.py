"""`torch.cpu` for programs that treat the CPU as a device like others: it is the only one."""

from __future__ import annotations

from typing import Any

from . import amp
from .streams import Stream

__all__ = [
    "Stream", "amp", "current_device", "device_count", "is_available", "is_initialized",
    "set_device", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether tensors can live on the CPU: always.

    >>> rg.cpu.is_available(), rg.cpu.device_count(), rg.cpu.current_device()
    (True, 1, 'cpu')
    """
    return True


def is_initialized() -> bool:
    """Whether the CPU can be used: always."""
    return True


def device_count() -> int:
    """The number of CPUs, which are one device: 1."""
    return 1


def current_device() -> str:
    """The device in use: "cpu"."""
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing: there is no choice."""


def synchronize(device: Any = None) -> None:
    """Nothing: whatever was called has been computed."""
