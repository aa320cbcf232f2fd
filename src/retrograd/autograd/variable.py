"""`Variable`: PyTorch's old name for a tensor, and what programs reach through it.

This module knows tensors only from outside.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .. import modes, version
from ..engine.tensor import Tensor
from .grad import backward, grad

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
    def run_backward(
        tensors: Sequence[Any],
        grad_tensors: Sequence[Any],
        keep_graph: bool,
        create_graph: bool,
        inputs: Sequence[Any] = (),
        allow_unreachable: bool = False,
        accumulate_grad: bool = False,
    ) -> tuple[Any, ...]:
        """`autograd.backward`, or with `inputs` and without `accumulate_grad` `autograd.grad`.

        The same, with all arguments by position, as PyTorch's functions call their engine.
        """
        given = list(tensors), list(grad_tensors)
        if inputs and not accumulate_grad:
            found: tuple[Any, ...] = grad(
                given[0],
                list(inputs),
                given[1],
                keep_graph,
                create_graph,
                allow_unused=allow_unreachable,
            )
            return found
        backward(*given, keep_graph, create_graph, inputs=list(inputs) or None)
        return ()

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

    >>> v = rg.autograd.Variable(rg.ones(2), requires_grad=True)
    >>> type(v) is rg.Tensor, isinstance(v, rg.autograd.Variable)
    (True, True)
    """

    _execution_engine = Engine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        """A leaf on the memory of `data`; `volatile`, the first form of `no_grad`, warns."""
        if volatile:
            text = "volatile was removed and now has no effect. Use `with retrograd.no_grad():`."
            warnings.warn(version.named(text), UserWarning, stacklevel=2)
        if not (data is None or isinstance(data, Tensor)):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        made = Tensor() if data is None else data.detach()
        if requires_grad:
            made.requires_grad = True
        return made
