"""Methods and names of the families that load later: a family loads when one of them is asked for.

NOTE [Whole or not at all]
1. An interrupt, or an error for want of memory, may end a load anywhere. Nobody sees what half of a
   family has declared: methods come to stand on `Tensor`, and ops in the namespaces, when the
   module has loaded as a whole. Until then they wait, in `Later.seen` and in the registry.
2. The next who asks loads the module anew, over what the first load has left: whatever a module
   enters into a table as it loads replaces an older entry of its own.

`lazy_names.py` lists them all, and that of `torch` those of PyTorch's world.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from .. import providers
from ..engine.overriding import publish
from ..engine.tensor import Tensor
from ..locks import load as load_module
from . import lazy_names


def gathered(which: str) -> dict[str, str]:
    """One table made of those of all families, by their modules."""
    tables = {__package__: lazy_names} | providers.families()
    return {
        f"{package}.{family}": names
        for package, listed in tables.items()
        for family, names in getattr(listed, which).items()
    }


METHODS, OPS, NAMES = map(gathered, ("METHODS", "OPS", "NAMES"))


class Later:
    """A method of tensors until its family, which loads when somebody asks for it, is there."""

    __slots__ = ("family", "seen")

    seen: Any  # what the family attaches in its place

    def __init__(self, family: str) -> None:
        self.family, self.seen = family, None

    def __get__(self, tensor: Tensor | None, cls: type[Tensor]) -> Any:
        family_module(self.family)
        return self.seen.__get__(tensor, cls)


def family_module(family: str) -> ModuleType:
    """The module of a family, loaded as a whole, and its methods on `Tensor`."""
    module = load_module(family)
    attach(family)
    return module


def attach(family: str) -> None:
    """Let the methods of a family that has loaded stand on `Tensor`."""
    for name in METHODS.get(family, "").split():
        waiting = vars(Tensor)[name]
        if isinstance(waiting, Later) and waiting.seen is not None:
            setattr(Tensor, name, waiting.seen)


def attached() -> dict[str, Any]:
    """What is on `Tensor`, and, by the same names, what waits for its module to be whole."""
    return {name: getattr(each, "seen", each) for name, each in vars(Tensor).items()}


def family_of(name: str) -> str | None:
    """The family in which a public name is, or None."""
    for family, names in NAMES.items():
        if name in names and name in names.split():  # the first says no quickly
            return family
    return None


def load(name: str) -> Any:
    """What a public name stands for, by way of loading its family."""
    module = family_module(family_of(name) or "")
    namespace = {name: getattr(module, name)}
    publish(namespace, "retrograd", module.__name__.split(".")[1])
    return namespace[name]


def declare(op: str) -> None:
    """Load the family that declares an op, if one does."""
    for family, own in OPS.items():
        if op in own.split():
            family_module(family)


def names() -> list[str]:
    """The public names of all families that load later."""
    return " ".join(NAMES.values()).split()


for family, own in METHODS.items():
    for name in own.split():
        setattr(Tensor, name, Later(family))
