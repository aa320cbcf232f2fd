"""Functions of one expression, made from tables: those of devices that are not there, and others.

A row has a function's name, a lambda that takes its arguments and gives its result, and its
docstring.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ops.core.arguments import titled

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["absent_device", "define"]

Table = dict[str, tuple["Callable[..., Any]", str]]


def define(module: dict[str, Any], table: Table) -> None:
    """Define the functions of a table in a module's globals."""
    for name, (function, doc) in table.items():
        module[name] = titled(function, name, doc)
        module[name].__module__ = module["__name__"]


def absent_device() -> Table:
    """The functions that the module of every device has, new ones for each."""
    return {
        "is_available": (lambda: False, "Whether tensors can live on such a device: never."),
        "device_count": (lambda: 0, "The number of such devices: 0."),
        "empty_cache": (lambda: None, "Free unused memory of the device: there is none."),
        "manual_seed": (lambda seed: None, "Seed the device's generator: there is none."),
        "synchronize": (lambda device=None: None, "Wait for the device, where nothing runs."),
    }
