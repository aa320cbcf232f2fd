"""A loop over items that carries a state and gives an output for each."""

from __future__ import annotations

from operator import methodcaller
from typing import TYPE_CHECKING, Any

from ... import pytree
from ...engine.namespaces import recorded
from ...engine.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["scan", "stacked"]

EMPTY = "All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0"


def scan(
    combine_fn: Callable[..., Any], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False
) -> Any:
    """The last state, and the outputs stacked, of `state, out = combine_fn(state, x)` along `dim`.

    init: the first state; xs: a tensor, or several in containers. With `reverse` the last item
    comes first; outputs stand where their items do. Raises RuntimeError where there is no item.
    Source: PyTorch's operator.

    >>> from retrograd._higher_order_ops import scan
    >>> scan(lambda total, x: (total + x, total * 10), rg.tensor(0.0), rg.arange(4.0))
    (tensor(6.), tensor([ 0.,  0., 10., 30.]))
    """
    leaves = pytree.flatten(xs)
    if not leaves or not all(isinstance(x, Tensor) and x.ndim > dim for x in leaves):
        raise RuntimeError(EMPTY)
    count = leaves[0].shape[dim]
    if not count:
        raise RuntimeError(EMPTY)
    state, outs = init, []
    for i in reversed(range(count)) if reverse else range(count):
        state, out = combine_fn(state, pytree.map_leaves(methodcaller("select", dim, i), xs))
        outs.append(out)
    return state, stacked(outs[::-1] if reverse else outs, dim)


def stacked(outs: list[Any], dim: int = 0) -> Any:
    """Outputs of one structure, each of their tensors stacked along a new dimension."""
    columns = zip(*[pytree.flatten(out) for out in outs], strict=True)
    return pytree.unflatten(outs[0], [recorded.stack(*column, dim=dim) for column in columns])
