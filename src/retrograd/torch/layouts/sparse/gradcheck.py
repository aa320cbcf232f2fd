"""Checks of functions of sparse tensors: their values are the variables, their places stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....pytree import map_leaves
from .array import is_sparse
from .rules import coalesced, sparse_of, stored

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....engine.tensor import Tensor

__all__ = ["over_values"]


def over_values(
    func: Callable[..., Any], arguments: Sequence[Any]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """`func` as a function of the values of sparse tensors, which gives values, and its arguments.

    Entries at one place are one variable.
    """
    patterns = [coalesced(x) if is_sparse(x) else None for x in arguments]

    def of_values(*given: Any) -> Any:
        whole = [
            x if pattern is None else sparse_of(x, pattern)
            for x, pattern in zip(given, patterns, strict=True)
        ]
        return map_leaves(lambda y: stored(y) if is_sparse(y) else y, func(*whole))

    return of_values, tuple([variable(x) if is_sparse(x) else x for x in arguments])


def variable(x: Tensor) -> Tensor:
    """The values of a sparse tensor as a leaf that requires grad if that does."""
    return stored(x.detach()).detach().requires_grad_(x.requires_grad)
