"""Graphs: nodes in the order in which they run."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from operator import attrgetter
from typing import Any

from .code import CodeGen, Namespace, PythonCode, generate
from .node import Node, Target, map_aggregate, map_arg

__all__ = ["CodeGen", "Graph", "PythonCode"]

FOREIGN = (
    "Argument '{arg}' of Node '{node}' does not belong to this Graph, but was used as an argument! "
    "To copy nodes from another graph, give node_copy an arg_transform"
)


class Reference(str):
    """A node by its name, in a pickled graph."""


class InsertPoint:
    """Where new nodes go; as a context, until its end."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self.graph, self.before = graph, graph._insert
        graph._insert = insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        self.graph._insert = self.before


class NodeList:
    """A view of a graph's nodes, of which any may be erased or added meanwhile."""

    def __init__(self, graph: Graph, backward: bool = False) -> None:
        self.graph, self.backward = graph, backward

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root = self.graph._root
        node = root._prev if self.backward else root._next
        while node is not root:
            if not node._erased:
                yield node
            node = node._prev if self.backward else node._next

    def __reversed__(self) -> NodeList:
        return NodeList(self.graph, not self.backward)


class Graph:
    """A function as a list of nodes: inputs, calls and an output.

    >>> graph = rg.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_function(rg.relu, (x,)))
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=retrograd.relu](args = (%x,), kwargs = {})
        return relu
    """

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._root._erased = True
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = Namespace()
        self.owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._codegen = CodeGen()

    @property
    def nodes(self) -> NodeList:
        """The nodes in order; a loop may erase and add some."""
        return NodeList(self)

    # -- making nodes --------------------------------------------------------------------------

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A new node at the insert point, by default at the end."""
        node = Node(self, "", op, target, args or (), kwargs or {}, type_expr)
        node.name = self._graph_namespace.create_name(name or self._target_to_str(target), node)
        self._insert(node)
        self._len += 1
        return node

    def _target_to_str(self, target: Target) -> str:
        name = target if isinstance(target, str) else getattr(target, "__name__", "call")
        if re.fullmatch(r"__\w+__", name):
            name = name[2:-2]
        stripped = name.lstrip("*")
        name = f"_{stripped}" if stripped != name else name
        return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An input."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or other attribute of the module, by its path."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """A call of a submodule, by its path."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """The output: a node, or nested tuples, lists and dicts of nodes and values."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda n: n) -> Node:
        """A copy of another graph's node; `arg_transform` says what its arguments are here."""
        args, kwargs = map_arg((node.args, node.kwargs), arg_transform)
        names, name = self._graph_namespace, node.name
        if node.op != "placeholder" or name in names._used:  # that of an input may be any
            name = names.create_name(name, None)
        copied = Node(self, name, node.op, node.target, args, kwargs, node.type)
        copied.meta = dict(node.meta)
        self._graph_namespace._used[name] = copied
        self._insert(copied)
        self._len += 1
        return copied

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Any], return_output_node: bool = False
    ) -> Any:
        """Copy another graph's nodes; returns what its output is here, None where it has none.

        `val_map` says what nodes are here already, and is filled.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], val_map.__getitem__)
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    # -- changing ------------------------------------------------------------------------------

    def inserting_before(self, n: Node | None = None) -> InsertPoint:
        """New nodes go before `n` (None: the start), until the end of the `with` statement."""
        if n is None:
            return self.inserting_after(self._root)
        self._own(n)
        return InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> InsertPoint:
        """New nodes go after `n` (None: the end), until the end of the `with` statement."""
        if n is None:
            return self.inserting_before(self._root)
        self._own(n)
        at = n

        def insert(node: Node) -> None:
            nonlocal at
            at.append(node)
            at = node

        return InsertPoint(self, insert)

    def _own(self, n: Node) -> None:
        if n.graph is not self:
            raise AssertionError(f"Node {n} to insert at is not in this graph")

    def erase_node(self, to_erase: Node) -> None:
        """Take out a node that nothing uses; RuntimeError where something does."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} "
                f"users in the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        to_erase._remove()
        to_erase._erased = True
        self._len -= 1
        to_erase._set((), {})

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Take out what nothing uses and what has no effects; whether there was any."""
        self.lint()
        stays = is_impure_node or Node.is_impure
        before = self._len
        for node in reversed(self.nodes):
            if not node.users and not stays(node):
                self.erase_node(node)
        return self._len < before

    # -- asking --------------------------------------------------------------------------------

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of an op, and of a target where one is given."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def output_node(self) -> Node:
        """The output."""
        return self.find_nodes(op="output")[0]

    def lint(self) -> None:
        """Raise RuntimeError unless every argument is an earlier node, and every target exists."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            for arg in node.all_input_nodes:
                if arg.graph is not self:
                    raise RuntimeError(FOREIGN.format(arg=arg, node=node))
                if arg not in seen:
                    raise RuntimeError(
                        f"Argument '{arg}' of Node '{node}' was used before it has been defined! "
                        f"Please check that Nodes in the graph are topologically ordered\n{self}"
                    )
            seen.add(node)
            names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                self._lint_target(node)

    def _lint_target(self, node: Node) -> None:
        try:
            attrgetter(str(node.target))(self.owning_module)
        except AttributeError as error:
            raise RuntimeError(
                f"Node {node} target {node.target} references nonexistent attribute {error.name}"
            ) from None

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of the module as those of the placeholders."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The value of the output node as that of the module."""
        return self._codegen.process_outputs(out)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let `codegen` frame the code; modules have to `recompile`."""
        self._codegen = codegen

    def on_generate_code(
        self, make_transformer: Callable[[Any], Any]
    ) -> AbstractContextManager[None]:
        """Let code be changed as it is made, from now on, or to the end of a `with`.

        make_transformer: gets the function that changes it now, or None, and gives another one,
        from the lines of the body to new ones.

        >>> module = rg.fx.symbolic_trace(lambda x: x + 1)
        >>> with module.graph.on_generate_code(lambda last: lambda body: ["# more\\n", *body]):
        ...     print(module.recompile().src.strip())
        def forward(self, x):
            # more
            add = x + 1;  x = None
            return add
        """
        before, codegen = self._codegen._body_transformer, self._codegen
        codegen._body_transformer = make_transformer(before)

        @contextmanager
        def until() -> Iterator[None]:
            try:
                yield
            finally:
                codegen._body_transformer = before

        return until()

    def python_code(self, root_module: str, *, verbose: bool = False) -> PythonCode:
        """The source of the function, of which `root_module` is the module's name in it."""
        return generate(self.nodes, root_module, self._codegen)

    def print_tabular(self) -> None:
        """Print a table of the nodes."""
        rows = [["opcode", "name", "target", "args", "kwargs"]]
        rows += [[n.op, n.name, str(n.target), str(n.args), str(n.kwargs)] for n in self.nodes]
        columns = zip(*rows, strict=True)
        widths = [max(len(title) + 2, *map(len, cells)) for title, *cells in columns]
        rows.insert(1, ["-" * width for width in widths])
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            print("  ".join(cells).rstrip())  # noqa: T201

    def __str__(self) -> str:
        return "\n    ".join(["graph():", *filter(None, (n.format_node() for n in self.nodes))])

    # -- copies --------------------------------------------------------------------------------

    def __deepcopy__(self, memo: Any = None) -> Graph:
        copied = Graph(tracer_cls=self._tracer_cls)
        copied._codegen = copy.copy(self._codegen)
        known: dict[Node, Any] = {}
        found = copied.graph_copy(self, known, return_output_node=True)
        if found is not None:
            value, old = found
            copied.output(value, old.type).meta = dict(old.meta)
        return copied

    def __reduce__(self) -> Any:
        rows = []
        for n in self.nodes:
            args = map_arg((n.args, n.kwargs), lambda arg: Reference(arg.name))
            rows.append((n.name, n.op, n.target, *args, n.type, n.meta.get("is_wrapped")))
        return _rebuilt, (rows,)


def _rebuilt(rows: list[Any]) -> Graph:
    """A graph that was pickled as rows."""
    graph = Graph()
    known: dict[str, Node] = {}

    def referred(value: Any) -> Any:
        return known[value] if isinstance(value, Reference) else value

    for name, op, target, args, kwargs, kind, wrapped in rows:
        node = graph.create_node(op, target, (), {}, name, kind)
        node._set(*map_aggregate((args, kwargs), referred))
        known[name] = node
        if wrapped:
            node.meta["is_wrapped"] = True
    return graph
