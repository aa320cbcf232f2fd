"""Methods and names of the families that load later: a family loads when one of them is asked for.

A family's own `method` calls replace what stands on `Tensor` here, before anybody has seen it.
`families.py` lists them all.
"""

from __future__ import annotations

from typing import Any

from ..engine.overriding import publish
from ..engine.tensor import Tensor
from ..locks import load as load_module
from .families import METHODS, NAMES, OPS


class Later:
    """A method of tensors until its family, which loads when somebody asks for it, attaches it."""

    __slots__ = ("family", "name")

    def __init__(self, family: str, name: str) -> None:
        self.family, self.name = family, name

    def __get__(self, tensor: Tensor | None, cls: type[Tensor]) -> Any:
        load_module(f"{__package__}.{self.family}")
        return vars(Tensor)[self.name].__get__(tensor, cls)


def family_of(name: str) -> str | None:
    """The family in which a public name is, or None."""
    for family, names in NAMES.items():
        if name in names and name in names.split():  # the first says no quickly
            return family
    return None


def load(name: str) -> Any:
    """What a public name stands for, by way of loading its family."""
    module = load_module(f"{__package__}.{family_of(name)}")
    namespace = {name: getattr(module, name)}
    publish(namespace, "retrograd")
    return namespace[name]


def declare(op: str) -> None:
    """Load the family that declares an op, if one does."""
    for family, own in OPS.items():
        if op in own.split():
            load_module(f"{__package__}.{family}")


def names() -> list[str]:
    """The public names of all families that load later."""
    return " ".join(NAMES.values()).split()


for family, own in METHODS.items():
    for name in own.split():
        setattr(Tensor, name, Later(family, name))
