"""What may stand for the array of a tensor, and carries out ops itself: batches, sparse arrays.

This module knows no tensor, and nothing of what is such an array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Interpreted", "concrete"]


class Interpreted:
    """What has a shape and a dtype like an array, and carries out ops itself, such as a batch."""

    __slots__ = ()

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    value: Any  # the tensor that it holds
    device: Any = property(lambda self: self.value._array.device)  # where the values lie
    on_tensors = False  # whether formulas of nodes that saved it run on tensors: `saved.OnTensors`

    def tensor(self) -> Any:
        """The tensor that shows it to users, where formulas run on tensors."""
        raise NotImplementedError

    def interpret(self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """What an op gives for inputs among which this is."""
        raise NotImplementedError

    def detached(self) -> Interpreted:
        """The same without any history."""
        raise NotImplementedError

    def with_history(self, before: Any) -> Interpreted:
        """The same with the history that `before`, which it replaces, has beneath."""
        raise NotImplementedError

    def alike(self, made: Any) -> Interpreted:
        """What stands for `made` in the same way, so that values like this may be written to it."""
        raise NotImplementedError

    def shares_memory(self, other: Any) -> bool:
        """Whether this lies in the memory of another one."""
        raise NotImplementedError

    def check_room(self, target: Any) -> None:
        """Raise unless `target` may have this for its array from now on."""
        raise NotImplementedError

    def settled(self, target: Any) -> None:
        """Called once it is the array of `target`."""


def concrete(array: Any) -> Any:
    """The NumPy array behind a batch, for checks that every element has to pass."""
    while isinstance(array, Interpreted):
        array = array.value._array
    return array
