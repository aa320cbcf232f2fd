"""PyTorch's `utils.hooks`: handles of hooks, and the mark of a hook that a file may leave out.

The hooks themselves are where they run: in `engine.backward.hooks`, `nn.hooks`, `optim.optimizer`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..engine.backward.hooks import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook"]

F = TypeVar("F", bound="Callable[..., Any]")


def unserializable_hook(f: F) -> F:
    """Mark a hook, so that pickling a tensor that has it gives no warning.

    >>> import pickle
    >>> x = rg.ones(1, requires_grad=True)
    >>> handle = x.register_hook(rg.utils.hooks.unserializable_hook(lambda g: g))
    >>> pickle.loads(pickle.dumps(x))
    tensor([1.], requires_grad=True)
    """
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f
