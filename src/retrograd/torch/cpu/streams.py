"""Queues of work, as programs for accelerators have them."""

from __future__ import annotations

from typing import Any

from ...engine.placement import device as Device

__all__ = ["Stream"]


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
