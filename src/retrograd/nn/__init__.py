"""Layers, losses and containers, a family per file of `modules`; functions are in `functional`."""

from typing import TYPE_CHECKING, Any

from .. import providers as _providers
from . import complex as complex, functional as functional, init as init, modules, utils as utils
from .modules import *
from .parameter import (
    Buffer as Buffer,
    Parameter as Parameter,
    UninitializedBuffer as UninitializedBuffer,
    UninitializedParameter as UninitializedParameter,
)

if not TYPE_CHECKING:  # to type checkers, what a package imports by * is public
    __all__ = [
        "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "complex",
        "functional", "init", "utils", *modules.__all__, *_providers.names(__name__),
    ]  # fmt: skip


def __getattr__(name: str) -> Any:
    """A module or a name of PyTorch's world, when it is first asked for."""
    return _providers.attribute(__name__, name)


def __dir__() -> list[str]:
    return _providers.listed(__name__)
