"""What a program lacks: the place, the name, the reason and the nearest name that is here.

An AttributeError of the package's modules, of tensors and their class, and an ImportError are such;
`explain` says it of an error, `lack` of a name.
"""

from __future__ import annotations

import importlib
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from ...engine.tensor import Tensor
from ...errors import nearest
from ...nn.modules.module import Module
from ...providers import Unknown
from ..jit import ScriptModule
from ..names.missing import reason

__all__ = ["explain", "lack"]

PACKAGE = str(Path(__file__).parents[2])
FROM = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")
OWN = ("torch", "torchvision", "retrograd")
SCRIPTED = ("code", "graph", "inlined_graph", "save", "save_to_buffer")  # of scripted modules alone
OTHER_PICTURES = (
    ": retrograd.vision, which stands for torchvision, holds ResNet and operators. "
    "torchvision itself runs here: pip install --no-deps torchvision pillow"
)


def lack(space: Any, place: str, name: str) -> str:
    """A sentence on `name`, which `place` of PyTorch has and `space` here has not.

    >>> from retrograd.torch.alias.explain import lack
    >>> lack(rg.nn, "torch.nn", "Liner")
    'torch.nn.Liner is not in Retrograd. The nearest name is torch.nn.Linear.'
    """
    near = nearest(name, dir(space))
    hint = f" The nearest name is {place}.{near}." if near else ""
    within = place.partition(".")[2] if place.startswith("torch.") else ""
    why = OTHER_PICTURES if place.startswith("torchvision") else reason(name, within)
    return f"{place}.{name} is not in Retrograd{why}.{hint}"


def explain(error: BaseException | None) -> str | None:
    """What is missing of PyTorch by an error, or by one that it was raised from, or None."""
    while error is not None:
        found = lacking(error)
        if found is not None:
            return f"{place_of(error)}{lack(*found)}"
        error = error.__cause__ or error.__context__
    return None


def lacking(error: BaseException) -> tuple[Any, str, str] | None:
    """(what was asked, how PyTorch calls it, for which name), or None if nobody was."""
    if isinstance(error, AttributeError) and error.name:
        told = error.args[0] if error.args else None
        asked = sys.modules[told.package] if isinstance(told, Unknown) else error.obj
        if isinstance(asked, ModuleType) and asked.__name__.partition(".")[0] in OWN:
            return asked, torchs(asked.__name__), error.name
        if isinstance(error.obj, Tensor) or error.obj is Tensor:
            return Tensor, "torch.Tensor", error.name
        if isinstance(error.obj, Module) and error.name in SCRIPTED:
            return ScriptModule, "torch.jit.ScriptModule", error.name
    elif isinstance(error, ModuleNotFoundError):
        outer, _, name = (error.name or "").rpartition(".")
        if outer.partition(".")[0] in OWN:
            return importlib.import_module(outer), torchs(outer), name
    elif isinstance(error, ImportError):
        found = FROM.match(str(error))
        if found and found[2].partition(".")[0] in OWN:
            return importlib.import_module(found[2]), torchs(found[2]), found[1]
    return None


def torchs(module: str) -> str:
    """The name of a module of this package in PyTorch."""
    if module.startswith("torchvision"):
        return module
    inner = f"{module}.".removeprefix("retrograd.").removeprefix("torch.")
    name = f"torch.{inner}".rstrip(".")
    return name.replace("torch.vision", "torchvision", 1)


def place_of(error: BaseException) -> str:
    """The innermost line of the user's programs that an error went through: "file:line: "."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith((PACKAGE, "<frozen")):
            return f"{frame.filename}:{frame.lineno}: "
    return ""
