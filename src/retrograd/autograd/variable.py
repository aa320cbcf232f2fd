"""`Variable`: PyTorch's old name for a tensor, and what programs reach through it.

This module knows tensors only from outside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import modes
from ..engine.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Variable"]


class Engine:
    """What a running backward pass offers to the code that it calls: hooks and Functions."""

    @staticmethod
    def queue_callback(callback: Callable[[], Any]) -> None:
        """Call `callback()` once the backward pass that runs now is complete.

        Raises RuntimeError where none runs.
        """
        if modes.state.current_pass is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        modes.state.current_pass.callbacks.append(callback)

    @staticmethod
    def is_checkpoint_valid() -> bool:
        """Whether the pass that runs now reaches every leaf: it was not given `inputs`."""
        return modes.state.current_pass is None or modes.state.current_pass.needed is None


class VariableMeta(type):
    """Lets every tensor be an instance of `Variable`."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor)


class Variable(metaclass=VariableMeta):
    """`Variable(tensor, requires_grad=False)` is the tensor's memory without its history.

    Deprecated in PyTorch, for tensors do it all. Every tensor is an instance.

    >>> import retrograd as rg
    >>> v = rg.autograd.Variable(rg.ones(2), requires_grad=True)
    >>> type(v) is rg.Tensor, isinstance(v, rg.autograd.Variable)
    (True, True)
    """

    _execution_engine = Engine()

    def __new__(cls, data: Any = None, requires_grad: bool = False) -> Any:
        """A leaf on the memory of `data`."""
        made = Tensor() if data is None else data.detach()
        if requires_grad:
            made.requires_grad = True
        return made
