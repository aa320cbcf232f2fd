"""Shapes: a graph is run on examples, and its nodes keep what their values look like."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....engine.tensor import Tensor
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """The shape, dtype and strides of a tensor, without its data."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]


class ShapeProp(Interpreter):
    """Runs a graph; `meta` of each node gets `type`, and `tensor_meta` if there are tensors.

    >>> module = rg.fx.symbolic_trace(lambda x: x.sum(0))
    >>> from retrograd.fx.passes.shape_prop import ShapeProp
    >>> _ = ShapeProp(module).propagate(rg.ones(2, 3))
    >>> [tuple(node.meta["tensor_meta"].shape) for node in module.graph.nodes]
    [(2, 3), (3,), (3,)]
    """

    def run_node(self, n: Node) -> Any:
        """The value of a node, which is described in its `meta`."""
        result = super().run_node(n)
        found = []

        def described(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            found.append(value)
            return TensorMetadata(value.shape, value.dtype, value.requires_grad, value.stride())

        meta = map_aggregate(result, described)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """The output for examples."""
        return super().run(*args)
