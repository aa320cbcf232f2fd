"""Calls of operators go to handlers: modes and classes of tensors with a `__torch_dispatch__`.

NOTE [Handlers]
1. The innermost mode of the calling thread is asked first, and is out of force meanwhile; then the
   classes of the arguments, each once and a subclass before its bases. The first result other than
   NotImplemented counts. Where there is no handler, the operator runs.
2. Handlers run below autograd: nothing is recorded, whatever grad mode says, which stays that of
   the call, and nothing has tangents.

This module knows no operator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import modes, pytree
from ...engine.overriding import one_of_each
from ...engine.subclasses import stands_below
from ...engine.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["dispatch", "handlers_of", "has_history", "is_dispatched"]

NOBODY = (
    "Multiple dispatch failed for '{}'; all __torch_dispatch__ handlers returned NotImplemented: "
    "tried {}"
)


def handlers_of(args: Any, kwargs: Any) -> list[Tensor]:
    """The arguments whose classes are handlers, one of each class, in the order of rule 1."""
    return one_of_each(v for v in pytree.flatten((args, kwargs)) if is_handler(type(v)))


def is_handler(kind: type) -> bool:
    """Whether a type is a class of tensors that has a `__torch_dispatch__`."""
    return issubclass(kind, Tensor) and stands_below(kind)


def has_history(values: Iterable[Any]) -> bool:
    """Whether what is computed from these is recorded, carries tangents, or is a batch."""
    state = modes.state
    if state.batches or state.levels:
        return True
    if not state.records:
        return False
    return any(
        isinstance(t, Tensor)
        and (t._node is not None or (t._view_of is not None and t._view_of.base._node is not None))
        for t in values
    )


def is_dispatched(args: Any, kwargs: Any) -> bool:
    """Whether a call of an operator with these arguments goes to a handler."""
    if not modes.state.dispatchers and not handlers_of(args, kwargs):
        return False
    return not has_history(pytree.flatten((args, kwargs)))


def dispatch(func: Any, args: Any, kwargs: Any) -> Any:
    """The result of an operator by its first handler that gives one: NOTE [Handlers]."""
    stack, grad, asked = modes.state.dispatchers, modes.state.grad, handlers_of(args, kwargs)
    types = tuple([type(value) for value in asked])
    with modes.Changed(below=True, grad=grad, levels=(), dispatchers=stack[:-1]):
        if stack:
            found = stack[-1].mode.__torch_dispatch__(func, types, tuple(args), kwargs)
            if found is not NotImplemented:
                return found
        for value in asked:
            found = type(value).__torch_dispatch__(func, types, tuple(args), kwargs)
            if found is not NotImplemented:
                return found
    if stack or asked:
        tried = (*[type(each.mode) for each in stack[-1:]], *types)
        raise TypeError(NOBODY.format(func, [kind.__name__ for kind in tried]))
    return func(*args, **kwargs)
