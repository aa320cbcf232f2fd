"""Splitting: parts of a graph become modules of their own, which a smaller graph calls in turn."""

from __future__ import annotations

import operator
from collections import defaultdict
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ....nn import Module

__all__ = ["split_module"]

OUTSIDE = ("placeholder", "get_attr", "output")  # what stays in the graph that calls the parts


class Part:
    """Nodes that become one module; what it takes and gives, each in the order of need."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}

    def module(
        self, whole: GraphModule, tuple_return: bool, own_names: bool, own_inputs: bool
    ) -> tuple[GraphModule, dict[str, str]]:
        """The nodes as a module, and what its modules are called in the whole.

        Its nodes have `own_names`, its inputs `own_inputs`, or else the names that they have there.
        """
        graph, modules, known = Graph(), {}, {}
        for place, node in enumerate(self.inputs):
            known[node] = graph.placeholder(f"arg_{place}" if own_inputs else node.name, node.type)
        for node in self.nodes:
            target = node.target
            if node.op == "call_module":
                target = str(node.target).replace(".", "_")
                modules[target] = str(node.target)
            args, kwargs = map_arg((node.args, node.kwargs), known.__getitem__)
            name = None if own_names else node.name
            known[node] = graph.create_node(node.op, target, args, kwargs, name, node.type)
        for node, copied in known.items():
            copied.meta = dict(node.meta)
        given = tuple(known[node] for node in self.outputs)
        graph.output(given if tuple_return or len(given) != 1 else given[0])
        root = {own: whole.get_submodule(path) for own, path in modules.items()}
        return GraphModule(root, graph), modules


def split_module(
    m: GraphModule,
    root_m: Module | None,
    split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> GraphModule:
    """A module that calls parts of `m`, the modules `submod_0`, ...: `split_callback` names them.

    It is called with each node that computes. Inputs and attributes stay outside, and go to the
    parts that use them. A part returns what others use, in a tuple if it is several values or
    `tuple_return` says so. `qualname_map` is filled with the names in `m` of the parts' modules;
    `partition_affix` stands in the parts' names; `root_m` is not needed. With `keep_original_order`
    parts are called in the order in which they begin, as far as they can be, and attributes are
    read where they are needed; with `keep_original_node_name` nodes keep their names; without
    `keep_original_input_name` the parts' inputs are `arg_0`, ... Raises RuntimeError where two
    parts need each other.

    >>> from retrograd.fx.passes.split_module import split_module
    >>> whole = rg.fx.symbolic_trace(lambda x: x.relu() + 1)
    >>> split = split_module(whole, None, lambda node: 0 if node.name == "relu" else 1)
    >>> print(split.code.strip())
    def forward(self, x):
        submod_0 = self.submod_0(x);  x = None
        submod_1 = self.submod_1(submod_0);  submod_0 = None
        return submod_1
    """
    affix = "" if partition_affix is None else f"{partition_affix}_"
    homes = {node: str(split_callback(node)) for node in m.graph.nodes if node.op not in OUTSIDE}
    parts, needs = divided(m.graph, homes)
    root: dict[str, Any] = {}
    graph, known = Graph(), {}

    def outside(nodes: Iterable[Node], ops: tuple[str, ...]) -> None:
        for node in nodes:
            if node.op in ops and node not in known:
                known[node] = graph.node_copy(node)
            if node.op == "get_attr":
                root[str(node.target)] = attrgetter(str(node.target))(m)

    outside(m.graph.nodes, OUTSIDE[: 1 if keep_original_order else 2])
    how = tuple_return, not keep_original_node_name, not keep_original_input_name
    for home in ordered(needs, 0 if keep_original_order else -1):
        part, name = parts[home], f"submod_{affix}{home}"
        root[name], modules = part.module(m, *how)
        if qualname_map is not None:
            qualname_map.update({f"{name}.{own}": path for own, path in modules.items()})
        outside(part.inputs, OUTSIDE[:2])
        call = graph.call_module(name, tuple(known[node] for node in part.inputs))
        single = len(part.outputs) == 1 and not tuple_return
        for place, node in enumerate(part.outputs):
            known[node] = call if single else graph.call_function(operator.getitem, (call, place))
    outside(m.graph.output_node().all_input_nodes, OUTSIDE[:2])
    graph.output(map_arg(m.graph.output_node().args[0], known.__getitem__))
    return GraphModule(root, graph)


def ordered(needs: dict[str, dict[str, None]], which: int) -> list[str]:
    """The parts, each behind those that it needs; of several the first, 0, or the newest, -1."""
    begun, found = [*needs], []
    ready = [home for home in begun if not needs[home]]
    while ready:
        home = ready.pop(which)
        found.append(home)
        free = [
            other for other in begun if home in needs[other] and needs[other].keys() <= {*found}
        ]
        ready += free
        if which == 0:
            ready.sort(key=begun.index)
    if len(found) < len(begun):
        raise RuntimeError("cycle exists between partitions!")
    return found


def divided(
    graph: Graph, homes: dict[Node, str]
) -> tuple[dict[str, Part], dict[str, dict[str, None]]]:
    """The parts of a graph, and for each which others come before it."""
    parts: dict[str, Part] = defaultdict(Part)
    needs: dict[str, dict[str, None]] = {}
    for node in graph.nodes:
        own = homes.get(node)
        if own is not None:
            parts[own].nodes.append(node)
            needs.setdefault(own, {})
        if own is None and node.op != "output":
            continue
        for used in node.all_input_nodes:
            made = homes.get(used)
            if made == own:
                continue
            if made is not None:
                parts[made].outputs[used] = None
            if own is not None:
                parts[own].inputs[used] = None
                if made is not None:
                    needs[own][made] = None
    return parts, needs
