"""Values that are computed twice, computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....graph import Graph
from ....graph_module import GraphModule
from ....node import Node
from ...infra.pass_base import PassBase, PassResult

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CSEPass"]


class CSEPass(PassBase):
    """Calls of one function on the same arguments become one.

    What draws random numbers, acts on something else or is in `banned_ops` stays, and so does all
    of a graph that writes in place, for two values may then differ later. Source: PyTorch's class.

    >>> from retrograd.fx.passes.dialect.common.cse_pass import CSEPass
    >>> found = CSEPass()(rg.fx.symbolic_trace(lambda x: x.cos() + x.cos()))
    >>> print(found.graph_module.code.strip())
    def forward(self, x):
        cos = x.cos();  x = None
        add = cos + cos;  cos = None
        return add
    """

    def __init__(self, banned_ops: Iterable[Any] | None = None) -> None:
        self.banned_ops = set(banned_ops or ())

    def call(self, graph_module: GraphModule) -> PassResult:
        """A module of the same parts with the smaller graph, and whether it is smaller."""
        made = Graph()
        known: dict[Node, Node] = {}
        firsts: dict[Any, Node] = {}
        nodes = list(graph_module.graph.nodes)
        written = any(node.is_impure(impure_random=False) for node in nodes if called(node))
        for node in nodes:
            copied = made.node_copy(node, known.__getitem__)
            known[node] = copied
            if called(node) and not (written or self.stays(node)):
                same = firsts.setdefault(key_of(copied), copied)
                if same is not copied:
                    made.erase_node(copied)
                    known[node] = same
        return PassResult(GraphModule(graph_module, made), len(made.nodes) < len(nodes))

    def stays(self, node: Node) -> bool:
        """Whether a call is to be made as often as it is written."""
        target = node.target
        return (
            node.is_impure()
            or target in self.banned_ops
            or getattr(target, "overloadpacket", target) in self.banned_ops
        )


def called(node: Node) -> bool:
    """Whether a node calls a function or a method."""
    return node.op in ("call_function", "call_method")


def key_of(node: Node) -> Any:
    """What two nodes that compute the same have in common."""
    return node.op, node.target, frozen(node.args), frozen(node.kwargs)


def frozen(value: Any) -> Any:
    """An argument as what can be looked up: equal to another of its type only."""
    if isinstance(value, (tuple, list)):
        return type(value).__name__, tuple(map(frozen, value))
    if isinstance(value, dict):
        return tuple([(name, frozen(item)) for name, item in value.items()])
    if isinstance(value, slice):
        return frozen((value.start, value.stop, value.step))
    return type(value), value
