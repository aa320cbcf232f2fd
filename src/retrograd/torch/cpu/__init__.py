"""`torch.cpu` for programs that treat the CPU as a device like others: it is the only one.

>>> rg.cpu.is_available(), rg.cpu.device_count(), rg.cpu.current_device()
(True, 1, 'cpu')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...engine.placement import device as Device
from ..tables import define
from . import amp

FUNCTIONS: dict[str, Any] = {
    "is_available": (lambda: True, "Whether tensors can live on the CPU: always."),
    "is_initialized": (lambda: True, "Whether the CPU can be used: always."),
    "device_count": (lambda: 1, "The number of CPUs, which are one device: 1."),
    "current_device": (lambda: "cpu", 'The device in use: "cpu".'),
    "set_device": (lambda device: None, "Nothing: there is no choice."),
    "synchronize": (lambda device=None: None, "Nothing: what was called has been computed."),
}
define(globals(), FUNCTIONS)
__all__ = list(FUNCTIONS)
__all__ += ["Stream", "amp"]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the functions of the table


class Stream:
    """A queue of work on a device. Here work is done when a call returns, so none ever waits.

    device: "cpu", else RuntimeError.

    >>> rg.Stream().query(), rg.Stream().device
    (True, device(type='cpu'))
    """

    def __init__(self, device: Any = None, *, priority: int = 0) -> None:
        self.device = Device("cpu") if device is None else Device(device)
        if self.device.type != "cpu":
            raise RuntimeError(
                f"a Stream of {self.device} cannot be: not linked with support for "
                f"{self.device.type} devices. Tensors live on the cpu: Stream()"
            )

    def query(self) -> bool:
        """Whether all work is done: always."""
        return True

    def synchronize(self) -> None:
        """Return when all work is done: at once."""

    def wait_stream(self, stream: Stream) -> None:
        """Let work that follows wait for that of another queue, which is done."""

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        """Work goes on as before."""
