"""A loop as long as a condition holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["while_loop"]


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any
) -> Any:
    """The state after `carried = body_fn(*carried)` while `cond_fn(*carried)` is true.

    Source: PyTorch's operator.

    >>> start = (rg.tensor(0), rg.ones(2))
    >>> rg.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), start)
    (tensor(3), tensor([8., 8.]))
    """
    if not (callable(cond_fn) and callable(body_fn)):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    carried = carried_inputs
    while cond_fn(*(carried if isinstance(carried, (tuple, list)) else (carried,))):
        carried = body_fn(*(carried if isinstance(carried, (tuple, list)) else (carried,)))
    return carried
