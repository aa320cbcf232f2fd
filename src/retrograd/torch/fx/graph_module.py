"""Modules that run the code generated for a graph."""

from __future__ import annotations

import copy
import linecache
import textwrap
import weakref
from collections.abc import Callable
from itertools import count
from typing import Any

from ... import version
from ...engine.tensor import Tensor
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from .code import described, generate
from .graph import Graph
from .node import Node

__all__ = ["GraphModule"]

HINT = "# To see more debug info, please use `graph_module.print_readable()`"
numbers = count()

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"  # of `meta`: names that copies keep


def compiled(source: str, names: dict[str, Any]) -> Callable[..., Any]:
    """The function `forward` of generated code, of which tracebacks can show the lines."""
    name = f"<retrograd.fx-{next(numbers)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names = dict(names)
    exec(compile(source, name, "exec"), names)
    made: Callable[..., Any] = names["forward"]
    weakref.finalize(made, linecache.cache.pop, name, None).atexit = False
    return made


def copy_attribute(source: Any, target: Module, path: str) -> None:
    """Give one module another's attribute, and modules on the way to it."""
    *outer, name = path.split(".")
    for part in outer:
        source = getattr(source, part)
        if not hasattr(target, part):
            setattr(target, part, Module())
        target = getattr(target, part)
        if target is source:
            return
    put(target, name, getattr(source, name))


_copy_attr = copy_attribute  # PyTorch's name


class _CodeOnlyModule(Module):
    """A module that has what a dict says: the state of another one."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def put(module: Module, name: str, value: Any) -> None:
    """Set an attribute; a tensor that is no parameter becomes a buffer."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


class GraphModule(Module):
    """A module whose `forward` is generated from a graph.

    `root`: the module that has what the graph's nodes name, or a dict of them by path; they are
    shared, not copied. After a change of `graph`, call `recompile`.

    >>> module = rg.fx.symbolic_trace(lambda x: x.relu() + 1)
    >>> print(module.code.strip())
    def forward(self, x):
        relu = x.relu();  x = None
        add = relu + 1;  relu = None
        return add
    >>> module(rg.tensor([-1.0, 2.0]))
    tensor([1., 3.])
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        """An object of a class of its own, whose `forward` is the generated one."""
        base = next(kind for kind in cls.__mro__ if "_made_for_one" not in vars(kind))
        own = {"_made_for_one": True, "__module__": GraphModule.__module__}
        made = type("GraphModuleImpl", (base,), own)
        return object.__new__(made)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = type(self).__qualname__ = class_name
        targets = [str(n.target) for n in graph.nodes if n.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            self.training = root.training
            for target in targets:
                copy_attribute(root, self, target)
        elif not isinstance(root, dict):
            raise RuntimeError(
                f"Unsupported type {type(root).__name__} passed for root! Give a module, or a dict "
                "of what the graph names"
            )
        else:
            for target in sorted(dict.fromkeys(targets), key=lambda path: path.count(".")):
                if target not in root:
                    raise RuntimeError(
                        f"Node referenced target {target} but that target was not provided in root"
                    )
                self._assign(target, root[target])
        self.graph = graph
        self._tracer_cls = graph._tracer_cls

    def _assign(self, path: str, value: Any) -> None:
        outer, _, name = path.rpartition(".")
        put(self._made(outer), name, value)

    def _made(self, path: str) -> Any:
        """The module at a path; those that were not there are made."""
        found: Any = self
        for part in path.split(".") if path else ():
            if not hasattr(found, part):
                setattr(found, part, Module())
            found = getattr(found, part)
        return found

    @property
    def graph(self) -> Graph:
        """The graph; setting one recompiles."""
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise AssertionError(
                f"Expected a Graph instance, but got {type(graph)}: fx.symbolic_trace(f).graph"
            )
        graph.owning_module = self
        self._graph = graph
        self.recompile()

    @property
    def code(self) -> str:
        """The generated source."""
        return self._code

    def recompile(self) -> Any:
        """Generate `forward` from the graph again; returns the code with its globals."""
        made = self._graph.python_code("self")
        self._code = made.src
        type(self).forward = compiled(made.src, made.globals)  # type: ignore[method-assign]
        return made

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path, with modules on the way; whether that could be done."""
        outer, _, name = target.rpartition(".")
        place = self._made(outer)
        if not isinstance(place, Module):
            return False
        place.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take out the module at a path; whether there was one."""
        outer, _, name = target.rpartition(".")
        try:
            place = self.get_submodule(outer)
            if not isinstance(getattr(place, name), Module):
                return False
        except AttributeError:
            return False
        delattr(place, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take out the modules that no node of the graph uses."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("get_attr", "call_module"):
                parts = str(node.target).split(".")
                used.update(".".join(parts[:i]) for i in range(1, len(parts) + 1))
            if node.op == "call_module":
                inner = self.get_submodule(str(node.target)).named_modules()
                used.update(f"{node.target}.{name}" for name, _ in inner if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    def print_readable(self, print_output: bool = True) -> str:
        """The code with each node's module and shape where known; printed unless told not to."""

        def above(node: Node) -> str:
            meta = node.meta.get("tensor_meta")
            return "" if meta is None else f"# {node}: {meta}"

        source = generate(
            self.graph.nodes, "self", self.graph._codegen, above, described
        ).src.strip("\n")
        body = "\n".join(f"    {line}".rstrip() for line in source.splitlines())
        text = f"class {type(self).__name__}({version.called}.nn.Module):\n{body}\n"
        for name, part in self.named_children():
            if isinstance(part, GraphModule):
                inner = part.print_readable(False).replace(
                    f"class {type(part).__name__}(", f"class {name}("
                )
                text += "\n" + textwrap.indent(inner, "    ")
        if print_output:
            print(text)  # noqa: T201
        return text

    def __deepcopy__(self, memo: Any) -> GraphModule:
        base, name, graph, held = self._parts()
        return rebuilt(base, name, copy.deepcopy(graph), copy.deepcopy(held, memo))

    def __copy__(self) -> GraphModule:
        base, name, graph, held = self._parts()
        tables = {key: dict(value) for key, value in held.items() if isinstance(value, dict)}
        return rebuilt(base, name, copy.deepcopy(graph), {**held, **tables})

    def __reduce__(self) -> Any:
        return rebuilt, self._parts()

    def _parts(self) -> tuple[type, str, Graph, dict[str, Any]]:
        held = {key: value for key, value in vars(self).items() if key not in ("_graph", "_code")}
        return type(self).__mro__[1], type(self).__name__, self._graph, held

    def __str__(self) -> str:
        return "\n".join([super().__str__(), self._code, HINT])


def rebuilt(base: Any, name: str, graph: Graph, held: dict[str, Any]) -> GraphModule:
    """A module as it was copied or pickled."""
    module: GraphModule = base.__new__(base)
    type(module).__name__ = type(module).__qualname__ = name
    vars(module).update(held)
    module.graph = graph
    return module
