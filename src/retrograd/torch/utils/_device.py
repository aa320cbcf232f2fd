"""`torch.utils._device`: devices as contexts, by PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...engine.placement import device

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DeviceContext", "device_decorator", "set_device"]

DeviceContext = device  # a device is the context itself


def set_device(device: Any) -> Callable[[Any], Any]:
    """A decorator: the function makes its tensors on a device.

    >>> from retrograd.utils._device import set_device
    >>> set_device("meta")(rg.ones)(2).device
    device(type='meta')
    """
    return DeviceContext(device)


def device_decorator(device: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes its tensors on a device."""
    return DeviceContext(device)(func)
