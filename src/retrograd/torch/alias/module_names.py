"""Of which module public functions and classes are under the alias: NOTE [The alias], 3."""

from __future__ import annotations

import contextlib
import importlib
import sys
from types import ModuleType
from typing import Any

import retrograd

from ...engine import overriding
from ...ops import lazy_loading

__all__ = ["LAYERS", "assign_module", "assign_modules"]

# PyTorch has none of these.
OWN = {"alias", "dtypes", "engine", "errors", "layouts", "locks", "modes", "names", "ops"}
NESTED = {"distributed", "nn", "utils", "vision"}  # whose packages have modules
LAYERS = "retrograd.torch.nn.modules."


def assign_modules(name: str, module: ModuleType) -> None:
    """Let the public functions and classes of a module be of PyTorch's module `name`.

    What a module only uses, and does not list, is not its own.
    """
    listed = getattr(module, "__all__", ())
    exactly = module.__name__.startswith(LAYERS)
    files = (module.__name__, module.__name__.replace(".torch.", ".", 1))
    if exactly:
        homes = [own.__module__ for own in vars(module).values() if family(own) == "nn"]
        if homes:  # `inspect` reads the classes in one file: that of most of them
            module.__file__ = sys.modules[max(homes, key=homes.count)].__file__
    for own, found in list(vars(module).items()):
        if getattr(found, "__qualname__", None) == own and not own.startswith("_"):
            known = public_form(found) in overriding.names
            other = found.__module__ in files if exactly else known or family(found) not in OWN
            if own in listed or other:
                assign_module(name, found, exactly)


def assign_module(name: str, found: Any, exactly: bool = False) -> None:
    """Let a function or class be of PyTorch's module `name`.

    What has a home of the same name in PyTorch is of that one instead, unless `exactly`.
    """
    part = family(found)
    if part is None:
        return
    if part == "nn" and "torch.nn" not in sys.modules:
        importlib.import_module("torch.nn")  # which knows the exact ones
        return
    shown, own = public_form(found), found.__qualname__
    known = own in vars(retrograd) or lazy_loading.family_of(own)  # asking for another is slow
    if part in OWN and known and getattr(retrograd, own) in (found, shown):  # which enters it
        name = "torch"  # whichever module is asked for first
    if called := overriding.names.get(shown):
        name = "torch" + called.removeprefix("retrograd").rpartition(".")[0]
    elif part not in OWN and not exactly:
        inner = path(found)
        outer = inner[: 3 if part in NESTED else 2]  # PyTorch's modules are not deeper
        around = sys.modules.get(found.__module__.removesuffix(".".join(inner)) + ".".join(outer))
        same = getattr(around, own, None) is found
        if part == "distributions":
            outer = distribution(found, outer)
        name = ".".join(["torch", *(outer if same else inner)])
        name = name.replace("torch.vision.", "torchvision.", 1)
    with contextlib.suppress(TypeError):  # types that are made in C do not change
        shown.__module__ = name  # what is behind it is published by its own home


def distribution(found: Any, path: list[str]) -> list[str]:
    """PyTorch's module of a distribution, if it is called like the class; else `path`."""
    for name, module in vars(sys.modules["retrograd.distributions"]).items():
        if isinstance(module, ModuleType) and name.lower().replace("_", "") == (
            found.__qualname__.lower()
        ):
            return ["distributions", name]
    return path


def family(found: Any) -> str | None:
    """The part of this package that a function or class is of; None for what is of none."""
    within = path(found)
    return within[0] if within else None


def path(found: Any) -> list[str]:
    """The module of a function or class within this package, the same in both its rings."""
    home = getattr(found, "__module__", None) or ""
    if not home.startswith("retrograd."):
        return []
    return home.removeprefix("retrograd.").removeprefix("torch.").split(".")


def public_form(found: Any) -> Any:
    """The form of a function that users call; anything else as it is."""
    return overriding.forms.get(found, found)
