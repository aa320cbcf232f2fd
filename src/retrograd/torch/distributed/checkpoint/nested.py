"""Nested states as flat ones, by names with dots, and blocks of tensors over ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....engine.tensor import Tensor
from ..tensor import DTensor
from ..tensor.api import shown
from ..tensor.array import block
from ..tensor.placements import without_sums
from .stateful import Stateful

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["block_of", "entered", "flat", "states_of"]

Path = tuple[Any, ...]


def states_of(state_dict: dict[str, Any]) -> dict[str, Any]:
    """The state with that of each Stateful in it; what lies over ranks is a DTensor."""
    return {
        key: shown(value.state_dict() if isinstance(value, Stateful) else value)
        for key, value in state_dict.items()
    }


def flat(state: Any) -> dict[str, tuple[Path, Any]]:
    """What a nested state holds, by its name: the path to it, and the value.

    Lists are taken apart where tensors or dictionaries are in them.
    """
    return {".".join(map(str, path)): (path, value) for path, value in _leaves(state, ())}


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, (list, tuple)) and _deep(value):
        pairs = list(enumerate(value))
    else:
        yield path, value
        return
    for key, part in pairs:
        yield from _leaves(part, (*path, key))


def _deep(values: Any) -> bool:
    return any(
        isinstance(part, (Tensor, dict)) or (isinstance(part, (list, tuple)) and _deep(part))
        for part in values
    )


def entered(state: Any, path: Path, value: Any) -> Any:
    """The state with a value at the end of a path; containers are made where they are missing."""
    if not path:
        return value
    key, *rest = path
    if state is None:
        state = [] if isinstance(key, int) else {}
    if isinstance(state, tuple):
        state = list(state)
    if isinstance(state, list):
        state += [None] * (key + 1 - len(state))
    inner = state.get(key) if isinstance(state, dict) else state[key]
    state[key] = entered(inner, tuple(rest), value)
    return state


def block_of(tensor: Tensor) -> tuple[tuple[int, ...], Any]:
    """Where what this rank has of a tensor begins in the whole, and that as a plain tensor."""
    if not isinstance(tensor, DTensor):
        return (0,) * tensor.ndim, tensor.detach()
    lying = without_sums(tensor.placements)
    held = tensor if lying == tensor.placements else tensor.redistribute(placements=lying)
    begins, _ = block(tensor.shape, tensor.device_mesh, lying)
    return tuple(begins), held.to_local().detach()
