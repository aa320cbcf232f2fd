"""`torch._guards` under the alias: questions about a mode in which tensors have shapes only."""

from typing import Any

__all__ = ["active_fake_mode", "detect_fake_mode"]


def active_fake_mode() -> None:
    """The mode that makes FakeTensors now: there is none.

    >>> from retrograd.alias.guards import active_fake_mode
    >>> active_fake_mode()
    """


def detect_fake_mode(inputs: Any = None) -> None:
    """The mode that made FakeTensors among the inputs: there is none."""
