"""`torch._guards` under the alias: questions about a mode in which tensors have shapes only."""

from typing import Any

from .. import modes, pytree
from ._subclasses.fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["active_fake_mode", "detect_fake_mode"]


def active_fake_mode() -> FakeTensorMode | None:
    """The innermost FakeTensorMode of the calling thread, or None.

    >>> from retrograd._guards import active_fake_mode
    >>> active_fake_mode() is None
    True
    """
    found = [each.mode for each in modes.state.dispatchers if isinstance(each.mode, FakeTensorMode)]
    return found[-1] if found else None


def detect_fake_mode(inputs: Any = None) -> FakeTensorMode | None:
    """The mode that the thread is in, else that of a FakeTensor among the inputs, or None."""
    fakes = [each for each in pytree.flatten(inputs) if isinstance(each, FakeTensor)]
    return active_fake_mode() or (fakes[0].fake_mode if fakes else None)
