"""The module of a kind of device."""

from __future__ import annotations

from typing import Any

from ...engine.placement import device as Device
from ...locks import load

__all__ = ["get_device_module"]


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
