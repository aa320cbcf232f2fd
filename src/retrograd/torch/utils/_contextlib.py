"""PyTorch's private names for context managers that decorate: see NOTE [Decorated bodies]."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import BareDecorator, Decorator, decorate

__all__ = ["context_decorator"]

_DecoratorContextManager = Decorator
_NoParamDecoratorContextManager = BareDecorator


def context_decorator(ctx: Any, func: Any) -> Any:
    """`func` with a manager entered while its body runs: one that `ctx()` makes, or `ctx` itself.

    >>> from retrograd.utils._contextlib import context_decorator
    >>> context_decorator(rg.no_grad, rg.is_grad_enabled)()
    False
    """
    return decorate(func, ctx if callable(ctx) else lambda: ctx)
