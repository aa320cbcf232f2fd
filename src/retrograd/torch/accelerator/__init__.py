"""`torch.accelerator` for programs that choose a device by it: there is no accelerator.

Programs can ask for one; what would use one raises RuntimeError, as PyTorch does without one.

>>> rg.accelerator.is_available(), rg.accelerator.device_count()
(False, 0)
>>> print(rg.accelerator.current_accelerator())
None
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tables import absent_device, define
from . import memory
from .memory import *
from .memory import refuse

KEPT = ("is_available", "device_count")  # of what all devices have; the others raise here

FUNCTIONS: dict[str, Any] = {
    **{name: row for name, row in absent_device().items() if name in KEPT},
    "current_accelerator": (
        lambda check_available=False: None,
        "The device of the accelerator: None.",
    ),
    "current_device_index": (lambda: refuse(), "The current accelerator: RuntimeError."),
    "set_device_index": (lambda device: refuse(), "Choose an accelerator: RuntimeError."),
    "current_device_idx": (lambda: refuse(), "`current_device_index` by its older name."),
    "set_device_idx": (lambda device: refuse(), "`set_device_index` by its older name."),
    "current_stream": (
        lambda device=None: refuse(),
        "The queue of work that an accelerator is at: RuntimeError.",
    ),
    "set_stream": (lambda stream: refuse(), "Choose a queue of work: RuntimeError."),
    "synchronize": (lambda device=None: refuse(), "Wait for an accelerator: RuntimeError."),
    "get_device_capability": (
        lambda device=None: refuse(),
        "What an accelerator can do: RuntimeError.",
    ),
}
define(globals(), FUNCTIONS)
__all__ = list(FUNCTIONS)
__all__ += ["device_index"]
__all__ += memory.__all__

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the functions of the table


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
            refuse()

    def __exit__(self, *exc: object) -> None:
        pass
