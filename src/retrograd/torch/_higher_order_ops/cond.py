"""A branch on a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import modes
from ...engine.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["cond"]


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()
) -> Any:
    """`true_fn(*operands)` if `pred` is true, else `false_fn(*operands)`; the other is not run.

    pred: a bool, or a tensor of one element. Raises RuntimeError for any other. Source: PyTorch's
    `torch.cond`.

    >>> x = rg.tensor([1.0, 2.0])
    >>> rg.cond(x.sum() > 4, lambda x: x.cos(), lambda x: x * 3, (x,))
    tensor([3., 6.])
    """
    if not isinstance(pred, (bool, int, float, Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if isinstance(pred, Tensor) and modes.state.dispatchers:
        mode = modes.state.dispatchers[-1].mode
        if hasattr(mode, "branch"):  # it writes both down
            return mode.branch(pred, (true_fn, false_fn), operands)
    return (true_fn if pred else false_fn)(*operands)
