"""Methods and names of the families that load later: a family loads when one of them is asked for.

A family's own `method` calls replace what is attached here. `families.py` lists them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..engine.overriding import publish
from ..engine.tensor import method
from ..locks import load as load_module
from .families import METHODS, NAMES, OPS

if TYPE_CHECKING:
    from collections.abc import Callable


def stub(family: str, name: str) -> Callable[..., Any]:
    """The method `name`, by way of loading `family`."""

    def load_and_call(self: Any, *args: Any, **kwargs: Any) -> Any:
        load_module(f"{__package__}.{family}")
        return getattr(self, name)(*args, **kwargs)

    return load_and_call


def family_of(name: str) -> str | None:
    """The family in which a public name is, or None."""
    return next((family for family, names in NAMES.items() if name in names.split()), None)


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
        method(stub(family, name), name, asks=False)
