"""`torch.accelerator` for programs that choose a device by it: there is no accelerator.

Programs can ask for one; what would use one raises RuntimeError, as PyTorch does without one.

>>> rg.accelerator.is_available(), rg.accelerator.device_count()
(False, 0)
>>> print(rg.accelerator.current_accelerator())
None
>>> rg.accelerator.memory.memory_allocated()
Traceback (most recent call last):
    ...
RuntimeError: Cannot access accelerator device when none is available...
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ...engine.placement import NO_ACCELERATOR
from ...engine.placement import device as Device
from ...locks import load
from ..tables import absent_device, define, module


def refuse() -> NoReturn:
    """Raise RuntimeError: there is no accelerator."""
    raise RuntimeError(NO_ACCELERATOR)


MEMORY = (
    "empty_cache empty_host_cache get_memory_info max_memory_allocated max_memory_reserved "
    "memory_allocated memory_reserved memory_stats reset_accumulated_memory_stats "
    "reset_peak_memory_stats"
)
ABOUT_MEMORY = "Ask about an accelerator's memory: RuntimeError."
memory = module(
    f"{__name__}.memory",
    "The memory of accelerators, of which there are none: all raise RuntimeError.",
    {name: (lambda device=None, /: refuse(), ABOUT_MEMORY) for name in MEMORY.split()},
)
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
globals().update({name: getattr(memory, name) for name in memory.__all__})
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


def get_device_module(device: Any = None) -> Any:
    """The module with the functions of a device, `cpu` by default; RuntimeError for an unknown one.

    >>> rg.get_device_module("cuda").is_available(), rg.get_device_module() is rg.cpu
    (False, True)
    """
    kind = Device("cpu" if device is None else device).type
    try:
        return load(f"..{kind}", __package__)
    except ModuleNotFoundError:
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as "
            f"'retrograd.{kind}'. There are cpu, cuda, mps and xpu"
        ) from None
