"""Graphs of operators without writes: what is written is computed anew, and seen by all views.

NOTE [Writes out of graphs]
1. A write to a tensor gives it another value, by the operator that does not write. A view that is
   written gives its base another value, which has the new one in its place (`PUT`).
2. A view is taken again where its base has another value by then.
3. What has been written when the graph ends is told to the caller: placeholders and attributes.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from ...ops import lazy_names
from ..library import ops
from ..names.view_copies import VIEWS
from .graph import Graph
from .node import Node, map_arg

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["functional"]

NO_FORM = (
    "{target} cannot be taken out of the graph: there is no operator that does it without a write. "
    "Write it out of place"
)
NO_PLACE = (
    "{target} gives a view whose write cannot be taken out of the graph. Write the base of it, or "
    "a clone"
)


def alike(call: Any, base: Node, new: Node, *args: Any) -> Node:
    """The node of a whole base of which `new` is the value, in the shape of `base`."""
    made: Node = call("view_as.default", new, base)
    return made


def scattered(name: str) -> Callable[..., Node]:
    """A part of a base, which an operator puts there."""
    return lambda call, base, new, *args, **named: call(name, base, new, *args, **named)


# How a base is made of itself and a new value of a view, by the operator that gave the view.
PUT: dict[str, Callable[..., Node]] = {
    **dict.fromkeys(["alias", "detach", "squeeze", "unsqueeze", "view"], alike),
    "as_strided": scattered("as_strided_scatter.default"),
    "diagonal": scattered("diagonal_scatter.default"),
    "permute": lambda call, base, new, dims: call(
        "permute.default", new, [list(dims).index(d) for d in range(len(dims))]
    ),
    "select": scattered("select_scatter.default"),
    "slice": scattered("slice_scatter.default"),
    "t": lambda call, base, new: call("t.default", new),
    "transpose": lambda call, base, new, *dims: call("transpose.int", new, *dims),
}
FORMS = {"fill_": "fill", "zero_": "zeros_like"}  # operators without the write, by other names
RANDOM = {*lazy_names.METHODS["random.inplace"].split()}
RESHAPED = {"squeeze_", "t_", "transpose_", "unsqueeze_", "swapaxes_", "swapdims_", "as_strided_"}


def operator_name(node: Node) -> str:
    """The name of the operator that a node calls, "" if it is none of PyTorch's."""
    packet = getattr(node.target, "overloadpacket", None)
    return packet.__name__ if packet is not None and packet.namespace == "aten" else ""


def form_of(node: Node) -> Any:
    """The operator that gives what a node writes."""
    packet, _, which = node.target.__name__.partition(".")  # type: ignore[union-attr]
    name = FORMS.get(packet, packet[:-1])
    if packet not in RANDOM | RESHAPED and not packet.startswith("_foreach"):
        found = getattr(ops.aten, name, None)
        for option in (which, "default"):
            if found is not None and option in found.overloads():
                return getattr(found, option)
    raise RuntimeError(NO_FORM.format(target=node.target))


class Functional:
    """One graph made of another: NOTE [Writes out of graphs]; `views`: are copied, too."""

    def __init__(self, views: bool) -> None:
        self.graph, self.views = Graph(), views
        self.values: dict[Node, Any] = {}  # of nodes of the other graph, in this one
        self.same: dict[Node, Node] = {}  # what a write gives is what it wrote
        self.bases: dict[Node, tuple[Node, Node, tuple[Any, ...]]] = {}  # base, operator, items
        self.versions: dict[Node, int] = {}  # of bases, and those that views have seen

    def call(self, name: str, *args: Any, **named: Any) -> Node:
        """A call of an overload by name."""
        if self.views and name == "view_as.default":
            name, args = "view.default", (args[0], list(args[1].meta["val"].shape))
        packet, _, which = name.partition(".")
        target = self.copied(getattr(getattr(ops.aten, packet), which))
        packet = target.overloadpacket.__name__
        return self.graph.create_node("call_function", target, args, named, packet)

    def copied(self, target: Any) -> Any:
        """An operator, or the one that copies what it gives a view of, where views are copied."""
        packet, _, which = target.__name__.partition(".")
        if not self.views or f"{packet}_copy" not in dir(ops.aten):
            return target
        found = getattr(ops.aten, f"{packet}_copy")
        return getattr(found, which if which in found.overloads() else "default")

    def root(self, node: Node) -> Node:
        """The base at the root of a chain of views."""
        while node in self.bases:
            node = self.bases[node][0]
        return node

    def value(self, node: Node) -> Any:
        """The value that a tensor has now: rule 2."""
        node = self.same.get(node, node)
        version = self.versions.get(self.root(node), 0)
        if node in self.bases and self.versions.get(node, 0) != version:
            self.versions[node] = version
            self.values[node] = self.view(node)
        return self.values[node]

    def view(self, node: Node) -> Node:
        """A view of its base as that is now."""
        base, maker, items = self.bases[node]
        args = map_arg((maker.args[1:], maker.kwargs), self.value)
        target = self.copied(maker.target)
        name = target.overloadpacket.__name__
        made = self.graph.create_node(
            "call_function", target, (self.value(base), *args[0]), args[1], name
        )
        made.meta.update(maker.meta)
        for item in items:
            made = self.graph.call_function(operator.getitem, (made, item))
            made.meta.update(node.meta)
        return made

    def write(self, node: Node, new: Node) -> None:
        """Replace the value of a tensor, and of what it is a view of: rule 1."""
        node = self.same.get(node, node)
        if node in self.bases:
            base, maker, items = self.bases[node]
            self.write(base, self.put(maker, items, self.value(base), new))
            self.versions[node] = self.versions[self.root(node)]
        else:
            self.versions[node] = self.versions.get(node, 0) + 1
        self.values[node] = new

    def put(self, maker: Node, items: tuple[Any, ...], base: Node, new: Node) -> Node:
        """A base with another value for a view of it."""
        name, (_, *rest) = operator_name(maker), map_arg(maker.args, self.value)
        if name == "unbind":
            made = self.call("select_scatter.default", base, new, *(rest or [0]), *items)
        elif name in ("split", "split_with_sizes"):
            sizes, dim = rest[0], rest[1] if len(rest) > 1 else maker.kwargs.get("dim", 0)
            start = sizes * items[0] if name == "split" else sum(sizes[: items[0]])
            size = sizes if name == "split" else sizes[items[0]]
            made = self.call("slice_scatter.default", base, new, dim, start, start + size)
        elif name in PUT:
            made = PUT[name](self.call, base, new, *rest, **maker.kwargs)
        else:
            raise RuntimeError(NO_PLACE.format(target=maker.target))
        made.meta.update(base.meta)
        return made

    def run(self, graph: Graph) -> dict[str, Node]:
        """Make the graph; the new values of placeholders and attributes, by the names of these."""
        sources = []
        for node in graph.nodes:
            name = operator_name(node)
            if node.op == "output":
                self.graph.output(map_arg(node.args[0], self.value))
                break
            if node.op in ("placeholder", "get_attr"):
                sources.append(node)
            first = node.args[0] if node.args else None
            if name.endswith("_") and isinstance(first, Node):
                args, named = map_arg((node.args, node.kwargs), self.value)
                form = form_of(node)
                if form is ops.aten.zeros_like.default:
                    args = args[:1]
                new = self.graph.create_node(
                    "call_function", form, args, named, form.overloadpacket.__name__
                )
                new.meta.update(node.meta)
                self.write(first, new)
                self.same[node] = self.same.get(first, first)
            elif name in VIEWS and isinstance(first, Node):
                several = name in ("split", "split_with_sizes", "unbind")
                self.bases[node] = self.same.get(first, first), node, ()
                if not several:
                    self.keep(node)
            elif node.target is operator.getitem and first in self.bases:
                base, maker, _ = self.bases[first]
                self.bases[node] = base, maker, (node.args[1],)
                self.keep(node)
            else:
                self.values[node] = self.graph.node_copy(node, self.value)
        return {
            node.name: self.values[node]
            for node in sources
            if self.values[node].op != node.op or self.values[node].name != node.name
        }

    def keep(self, node: Node) -> None:
        """Take a view where the graph takes it."""
        self.versions[node] = self.versions.get(self.root(node), 0)
        self.values[node] = self.view(node)


def functional(graph: Graph, views: bool = False) -> tuple[Graph, dict[str, Node]]:
    """A graph of operators that computes the same without writes: NOTE [Writes out of graphs].

    `views`: views are copies, too. With it come the nodes of new values for what the graph would
    have written, by the names of its placeholders and attributes.

    >>> from retrograd.fx.experimental.proxy_tensor import make_fx
    >>> from retrograd.fx.functional import functional
    >>> graph, written = functional(make_fx(lambda x: x[0].mul_(2))(rg.ones(2, 3)).graph)
    >>> [str(node.target) for node in graph.nodes][1:-1], written
    (['aten.select.int', 'aten.mul.Tensor', 'aten.select_scatter.default'], {'x_1': select_scatter})
    """
    made = Functional(views)
    written = made.run(graph)
    made.graph.eliminate_dead_code(lambda node: node.is_impure() or node in written.values())
    return made.graph, written
