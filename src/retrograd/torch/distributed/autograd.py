"""Backward passes whose gradients are kept by a context instead of in `.grad`.

PyTorch's passes cross to other processes where `rpc` called them. There is no `rpc` here, so a
graph is all in one process, and `is_available()` is False, as in a PyTorch without `rpc`.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ...autograd.grad import grad
from ...engine.backward.search import reachable
from ...engine.graph import LEAF
from ...engine.tensor import node_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...engine.tensor import Tensor

__all__ = ["backward", "context", "get_gradients", "is_available"]

_numbers = itertools.count(1)
_contexts: dict[int, dict[Tensor, Tensor]] = {}


def is_available() -> bool:
    """Whether backward passes cross to other processes: never.

    >>> from retrograd.distributed import autograd
    >>> autograd.is_available()
    False
    """
    return False


class context:  # noqa: N801 (PyTorch's name)
    """Keeps the gradients of the backward passes that are given its number.

    >>> from retrograd.distributed import autograd
    >>> x = rg.tensor(3.0, requires_grad=True)
    >>> with autograd.context() as number:
    ...     autograd.backward(number, [x * x])
    ...     autograd.get_gradients(number)[x], x.grad
    (tensor(6.), None)
    """

    def __enter__(self) -> int:
        self._number = next(_numbers)
        _contexts[self._number] = {}
        return self._number

    def __exit__(self, *_: object) -> None:
        del _contexts[self._number]


def backward(context_id: int, roots: Sequence[Tensor], retain_graph: bool = False) -> None:
    """Add the gradients of the sum of the roots, of one element each, to those of a context."""
    nodes = reachable([node for root in roots if (node := node_of(root)) is not None])
    leaves = [
        leaf for node in nodes if node.op is LEAF and (leaf := node.saved.tensor()) is not None
    ]
    kept = _contexts[context_id]
    for leaf, g in zip(leaves, grad([*roots], leaves, retain_graph=retain_graph), strict=True):
        kept[leaf] = kept[leaf] + g if leaf in kept else g


def get_gradients(context_id: int) -> dict[Tensor, Tensor]:
    """The gradients of a context, by leaf."""
    return dict(_contexts[context_id])
