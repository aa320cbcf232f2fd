"""Interpreters: a graph is run node by node, and methods say what each kind of node does."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from ...nn.modules.module import Module
from . import traceback
from ._symbolic_trace import Tracer
from .code import last_uses
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a module's graph node by node; override the method of a kind of node to change it.

    `garbage_collect_values`: values are dropped after their last use.

    >>> class Negated(rg.fx.Interpreter):
    ...     def call_function(self, target, args, kwargs):
    ...         return -super().call_function(target, args, kwargs)
    >>> Negated(rg.fx.symbolic_trace(lambda x: rg.relu(x))).run(rg.ones(2))
    tensor([-1., -1.])
    """

    def __init__(
        self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module = module
        self.graph: Any = module.graph if graph is None else graph
        self.submodules = dict(module.named_modules())
        self.env: dict[Node, Any] = {}
        self.garbage_collect_values = garbage_collect_values
        self.name = "Interpreter"
        self.extra_traceback = True
        self.args_iter: Iterator[Any] = iter(())
        self._last = last_uses(list(self.graph.nodes))

    def run(
        self,
        *args: Any,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """The output for arguments; `initial_env` has values of nodes that are not to be run."""
        self.env = {} if initial_env is None else initial_env
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node not in self.env:
                try:
                    self.env[node] = self.run_node(node)
                except Exception as error:
                    if self.extra_traceback:
                        error.add_note(f"While executing {node.format_node()}")
                    raise
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
            if self.garbage_collect_values:
                for used in self._last.get(node, ()):
                    self.env.pop(used, None)
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """As `run`, of a list of arguments, which is emptied."""
        args = tuple(args_list)
        args_list.clear()
        return self.run(*args)

    def run_node(self, n: Node) -> Any:
        """The value of a node."""
        with traceback.set_current_meta(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The next argument, or the default."""
        if target.startswith("**"):
            return {}
        if target.startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise RuntimeError(
            f"Expected positional argument for parameter {target}, but one was not passed in!"
        )

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The module's attribute."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a method of the first argument."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """The module's attribute at a path."""
        try:
            return attrgetter(target)(self.module)
        except AttributeError:
            raise RuntimeError(f"Node referenced nonexistent target {target}") from None

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[Any, dict[str, Any]]:
        """A node's arguments with the values of nodes in them."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Arguments with the values of nodes in them."""

        def value(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {node}!")
            return self.env[node]

        return map_arg(args, value)


class TransformerTracer(Tracer):
    """Adds to a graph; modules that are called in it are nodes."""

    def __init__(self, graph: Graph, root: Module) -> None:
        super().__init__()
        self.graph, self.root = graph, root
        self._paths = {module: name for name, module in root.named_modules()}
        self._tensors = {}

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """True: no module is traced into."""
        return True


class Transformer(Interpreter):
    """An interpreter over proxies: what its methods return makes a new module.

    >>> class Sigmoid(rg.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return rg.sigmoid(args[0]) if target is rg.relu else target(*args, **kwargs)
    >>> module = Sigmoid(rg.fx.symbolic_trace(lambda x: rg.relu(x))).transform()
    >>> module(rg.zeros(2))
    tensor([0.5000, 0.5000])
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph(tracer_cls=getattr(self.graph, "_tracer_cls", None))
        self.tracer = TransformerTracer(self.new_graph, module)

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A proxy for the input."""
        node = self.new_graph.create_node("placeholder", target, args)
        return Proxy(node, self.tracer)

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A proxy for the attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A proxy for the module's call."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A proxy for the function's call."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module, which shares the old one's parameters."""
        with traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        self.new_graph.output(self.tracer.create_arg(result))
        for old, new in zip(self.graph.nodes, self.new_graph.nodes, strict=False):
            if old.op == "placeholder":
                new.type = old.type
        return GraphModule(self.module, self.new_graph, type(self.module).__name__)
