"""What tapes are made of: recordings, which know nodes, and the leaves that are lent to constants.

NOTE [Marks] A node belongs to the recordings that its thread had open when it was recorded: it
holds them in `tapes`, and each has been shown it (`engine.graph.new_node`).
1. So what is computed outside a tape, while it is stopped or in another thread is not on it.
2. A recording holds leaves only, which have no edges. Nodes hold recordings, never tapes, so there
   is no cycle, whatever is watched.

NOTE [Lent leaves] A tensor that requires no grad is recorded only if it has a node.
1. So while tapes watch it, it is lent one: a leaf, so that it must not be written in place, whose
   tensor is gone, so that no `.grad` is ever added to. Until the last of them gives it back, in
   whatever thread, the tensor says that it requires grad.
2. A tensor keeps its lent leaf (`_lent`), for the next tape is to find the same variable.
"""

from __future__ import annotations

import warnings
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes, pytree
from ..engine.graph import LEAF, leaf_node
from ..engine.tensor import Tensor, new_tensor, node_of
from ..locks import structure

if TYPE_CHECKING:
    from ..engine.graph import Node

__all__ = ["Recording", "UnconnectedGradients", "differentiable", "give_back", "lend"]

NOT_FLOATING = (
    "The dtype of the {role} tensor must be floating or complex, but it is {dtype}, which has no "
    "derivative: {outcome}. Convert it first: x.float()"
)


class UnconnectedGradients(Enum):
    """The derivative if a target does not depend on a source: None, or zeros.

    NONE, or "none", is None; ZERO, or "zero", is zeros of the source's shape and dtype.

    >>> rg.UnconnectedGradients("zero")
    <UnconnectedGradients.ZERO: 'zero'>
    """

    NONE = "none"
    ZERO = "zero"

    @classmethod
    def _missing_(cls, value: object) -> Any:
        raise ValueError(
            f"Unknown value for unconnected_gradients: {value!r}. Write 'none' or 'zero'"
        )

    def fill(self, found: Any, like: Tensor, shape: Any) -> Any:
        """A derivative by `like`, which stands for one of `shape` if there is none."""
        if found is None and self is UnconnectedGradients.ZERO:
            return new_tensor(np.zeros(tuple(shape), like._array.dtype))
        return found


class Recording:
    """One stretch of recording: what marks its nodes, and the leaves that they read."""

    __slots__ = ("leaves",)

    def __init__(self) -> None:
        self.leaves: dict[Node, None] = {}

    def see(self, node: Node) -> None:
        """Called with every node that a thread records while it has this recording open."""
        for edge in node.edges:
            if edge is not None and edge.op is LEAF:
                self.leaves[edge] = None

    def variables(self) -> list[Tensor]:
        """The tensors that are leaves and require grad, in the order in which they were read."""
        tensors = [leaf.saved.tensor() for leaf in list(self.leaves)]
        return [tensor for tensor in tensors if tensor is not None]


def differentiable(tree: Any, role: str, outcome: str) -> list[Any]:
    """The tensors in a container, with None for those that have no derivative, after a warning."""
    found: list[Any] = []
    for leaf in pytree.flatten(tree):
        if not isinstance(leaf, Tensor):
            raise TypeError(
                f"The {role} must be a tensor, or a nested structure of tensors, but one is "
                f"{leaf!r} of type {type(leaf).__name__}. Give the tensor itself: .item(), float() "
                "and .numpy() end what is recorded"
            )
        has_derivative = dtypes.is_differentiable(leaf._array.dtype)
        if not has_derivative:
            text = NOT_FLOATING.format(role=role, dtype=leaf.dtype, outcome=outcome)
            warnings.warn(text, UserWarning, stacklevel=3)
        found.append(leaf if has_derivative else None)
    return found


def lend(tensor: Tensor) -> Node:
    """The node of a tensor, which is lent one if it has none: NOTE [Lent leaves]."""
    with structure:
        if tensor._node is None:
            array = tensor._array
            if tensor._lent is None:
                tensor._lent = leaf_node(new_tensor(array), array.shape, array.dtype)
            tensor._node = tensor._lent
            tensor._node.shape, tensor._node.dtype = array.shape, array.dtype
        if tensor._node is tensor._lent:
            tensor._node.lent += 1
    return node_of(tensor)  # type: ignore[no-any-return]


def give_back(tensor: Tensor, node: Node) -> None:
    """Let a tensor be without the node that `lend` gave, if that was the last tape to want it."""
    with structure:
        if node is not tensor._lent:
            return
        node.lent -= 1
        if not node.lent:
            if tensor._node is node:
                tensor._node = None
            if tensor._parked is node:
                tensor._parked = None
