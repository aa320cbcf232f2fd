"""What a node saved, as facts: names, shapes, bytes, and who overwrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import dtypes
from ..engine.graph import FREED, LEAF
from ..engine.saved import Packed, as_text
from ..engine.tensor import Tensor
from ..engine.trace import AT

if TYPE_CHECKING:
    from ..engine.graph import Node

__all__ = ["Value", "described", "owner_of", "values_of", "written"]


class Value(NamedTuple):
    """A saved value; `given` is "leaf" or "constant" for one that the node did not have made.

    `memory` is a number for the memory it lies in, as long as that lives.
    """

    name: str
    kind: str
    bytes: int
    given: str
    memory: int = 0


def owner_of(array: Any) -> Any:
    """The array that owns the memory of another; what is no array of NumPy's has its own."""
    while isinstance(array, np.ndarray) and isinstance(array.base, np.ndarray):
        array = array.base
    return array


def described(shape: tuple[int, ...], dtype: object) -> str:
    """A shape and a dtype of NumPy's as text: "float32 3×4"."""
    sizes = "×".join(map(str, shape)) or "()"
    return f"{dtypes.of_numpy(dtype).name} {sizes}"


def held_by(node: Node) -> list[tuple[str, Any]]:
    """What a node saved, by name; nothing where a backward pass has freed it."""
    held = node.saved
    if held is FREED or not isinstance(held, tuple):
        return []
    names = getattr(node.op, "saves", ())
    further = [f"value {place}" for place in range(len(names), len(held))]
    return list(zip([*names, *further], held, strict=False))


def values_of(node: Node) -> list[Value]:
    """The values that a node holds."""
    found = []
    for name, value in held_by(node):
        if isinstance(value, Packed):
            found.append(Value(name, "packed by a hook", 0, ""))
        elif value is not None:
            array = value._array if isinstance(value, Tensor) else value
            given = ""
            if isinstance(value, Tensor):
                history = value._node
                given = "constant" if history is None else "leaf" if history.op is LEAF else ""
            kind = described(array.shape, array.dtype)
            found.append(Value(name, kind, array.nbytes, given, id(owner_of(array))))
    return found


def written(node: Node) -> list[str]:
    """For each value that was overwritten after the node saved it: its name, and by whom."""
    found = []
    for place, (name, value) in enumerate(held_by(node)):
        if isinstance(value, Tensor):
            cell = value._cell
        else:
            cell = node._cell if node.cells is None else node.cells.get(place)
        if value is None or isinstance(value, Packed) or cell is None or cell.last <= node.seq:
            continue
        writers = ", ".join(as_text(by.partition(AT)[0]) for _, by in cell.writes_after(node.seq))
        found.append(f"{name} overwritten by {writers}")
    return found
