"""A function of each item along the first dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import pytree
from ...engine.tensor import Tensor
from .scan import stacked

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["map"]


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """`f(x, *args)` of the items of `xs` along its first dimension, one after another, stacked.

    xs: a tensor, or several in containers, which are taken apart together. Raises RuntimeError for
    what holds no tensors, or none with an item. Source: PyTorch's operator.

    >>> from retrograd._higher_order_ops import map
    >>> map(lambda x, y: x.sum() + y, rg.ones(3, 2), 1)
    tensor([3., 3., 3.])
    """
    leaves = pytree.flatten(xs)
    if not leaves or not all(isinstance(leaf, Tensor) for leaf in leaves):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {leaves}.")
    count = leaves[0].shape[0]
    if not count:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if any(leaf.shape[0] != count for leaf in leaves):
        raise RuntimeError(
            "Leading dimensions of mapped xs must be consistent. Got shapes "
            f"{[leaf.shape for leaf in leaves]}."
        )
    return stacked([f(pytree.map_leaves(lambda x: x[i], xs), *args) for i in range(count)])
