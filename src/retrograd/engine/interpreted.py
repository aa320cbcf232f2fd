"""What stands in the place of a tensor's array: see `Interpreted`.

It knows tensors only as what holds it, and nothing of the ways in which it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from .tensor import Tensor

__all__ = ["Interpreted", "concrete"]


class Interpreted:
    """What stands for an array and carries out ops itself, such as a batch of arrays.

    It tells shape and dtype like an array; whatever else is asked of it raises, and the op that
    asked hands itself over to `interpret(op, inputs, params)`: see `engine.dispatch`.
    """

    __slots__ = ()

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    value: Tensor

    def detached(self) -> Interpreted:
        """The same without any history."""
        raise NotImplementedError

    def with_history(self, before: Any) -> Interpreted:
        """The same with the history that `before`, which it replaces, has beneath."""
        raise NotImplementedError

    def alike(self, made: Tensor) -> Interpreted:
        """What stands for `made` in the same way, so that values like this may be written to it."""
        raise NotImplementedError

    def shares(self, other: Any) -> bool:
        """Whether this lies in the memory of another one."""
        raise NotImplementedError

    def check_room(self, target: Tensor) -> None:
        """Raise unless `target` may have this for its array from now on."""
        raise NotImplementedError


def concrete(array: Any) -> Any:
    """The NumPy array behind a batch, for checks that every element has to pass."""
    while isinstance(array, Interpreted):
        array = array.value._array
    return array
