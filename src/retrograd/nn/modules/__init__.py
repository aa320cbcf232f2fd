"""Modules by family of layers, and `Module` itself; every layer of `nn` by its name, too."""

import importlib
from typing import Any

from ... import providers


def __getattr__(name: str) -> Any:
    """A layer, which `nn` has: its families are below it, so it is asked when it is there."""
    layers = importlib.import_module(__package__.rpartition(".")[0])
    if name in layers.__all__:
        return getattr(layers, name)
    return providers.attribute(__name__, name)
