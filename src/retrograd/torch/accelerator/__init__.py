"""`torch.accelerator` for programs that choose a device by it: there is no accelerator.

Questions are answered; whoever would use one raises RuntimeError, as PyTorch does without one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...engine.placement import NO_ACCELERATOR
from . import memory
from .memory import *

if TYPE_CHECKING:
    from ...engine.placement import device

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "get_device_capability",
    "is_available",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]
__all__ += memory.__all__


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


def current_stream(device: Any = None) -> Any:
    """The queue that an accelerator works on: RuntimeError."""
    raise RuntimeError(NO_ACCELERATOR)


def set_stream(stream: Any) -> None:
    """Choose a queue of an accelerator: RuntimeError."""
    raise RuntimeError(NO_ACCELERATOR)


def get_device_capability(device: Any = None) -> dict[str, Any]:
    """What an accelerator can do: RuntimeError."""
    raise RuntimeError(NO_ACCELERATOR)


class device_index:  # noqa: N801 (PyTorch's name)
    """A context in which an accelerator is the current one: RuntimeError, but for None.

    >>> with rg.accelerator.device_index(None):
    ...     rg.accelerator.is_available()
    False
    """

    def __init__(self, device: int | None, /) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            set_device_index(self.idx)

    def __exit__(self, *exc: object) -> None:
        pass


current_device_idx, set_device_idx = current_device_index, set_device_index
