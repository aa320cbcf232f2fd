"""The weights of TorchScript archives: their tensors by name, as in a `state_dict`.

Such an archive has a program, which is not run here, and the objects that it would work on.
"""

from __future__ import annotations

import collections
from typing import Any

from ..engine.tensor import Tensor
from .rebuilding import Rebuilding
from .unpickler import failed

__all__ = ["Scripts", "weights_of"]

LONGEST = 4096  # of the dotted names


class Scripted:
    """An object of a class that a program defines: its attributes."""

    state: dict[str, Any]


class Scripts(Rebuilding):
    """What the names of such an archive stand for."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        lists = ("intlist", "tensorlist", "doublelist", "boollist")
        self.functions |= {f"torch.jit._pickle.build_{name}": self.same for name in lists}
        self.functions["torch.jit._pickle.restore_type_tag"] = self.same
        self.called |= {id(function) for function in self.functions.values()}

    def same(self, value: Any, kind: Any = None) -> Any:
        """A value that is marked with its type."""
        return value

    def find(self, module: str, name: str) -> Any:
        """A class of the program's, or what the name stands for anywhere."""
        ours = module.partition(".")[0] == "__torch__"
        return Scripted if ours else super().find(module, name)

    def makes(self, kind: Any) -> bool:
        """Whether objects of a class can be made."""
        return kind is Scripted or super().makes(kind)

    def fill(self, made: Any, state: Any) -> None:
        """Give the object of a scripted module its attributes."""
        if made.__class__ is not Scripted:
            super().fill(made, state)
        elif state.__class__ is dict:
            made.state = state


def weights_of(found: Any) -> collections.OrderedDict[str, Tensor]:
    """The tensors among the attributes of an object, and of those below it, by dotted names."""
    weights: collections.OrderedDict[str, Tensor] = collections.OrderedDict()
    waiting, seen = [("", found)], set()
    while waiting:
        prefix, owner = waiting.pop()
        if id(owner) in seen:
            continue
        seen.add(id(owner))
        below = []
        for name, value in getattr(owner, "state", {}).items():
            if name.__class__ is not str or len(prefix) + len(name) > LONGEST:
                raise failed("it has a module whose name is no text, or without an end")
            if isinstance(value, Tensor):
                weights[f"{prefix}{name}"] = value
            elif isinstance(value, Scripted):
                below.append((f"{prefix}{name}.", value))
        waiting += below[::-1]
    return weights
