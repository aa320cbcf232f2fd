"""Proxies: values that write down what is done with them, as nodes of a graph."""

from __future__ import annotations

import dis
import enum
import inspect
import operator
from collections.abc import Callable
from typing import Any

from ... import dtypes
from ...engine import overriding
from ...engine.tensor import Tensor, device
from ...ops.creation.memory_format import memory_format
from . import traceback
from .graph import Graph
from .node import PACKAGE, Node, Target, map_aggregate

__all__ = [
    "Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "TraceError", "TracerBase",
]  # fmt: skip

PLAIN = (
    *(str, int, float, bool, complex, type(None), type(...)),
    *(dtypes.dtype, device, memory_format, enum.Enum),
)
METHOD = f"{PACKAGE}.Tensor."
FLOW = (
    "symbolically traced variables cannot be used as inputs to control flow: no value is known "
    "while a function is traced. Make the condition an argument of concrete_args, or put the "
    "branch into a function under fx.wrap"
)
ITERATED = (
    "Proxy object cannot be iterated: how many items it has is not known while a function is "
    "traced. Unpack it into as many names as it has items, or index it"
)


class TraceError(ValueError):
    """Raised where a program does what tracing cannot follow."""


class TracerBase:
    """Makes nodes of a graph, and proxies for them."""

    graph: Graph
    traced_func_name = "forward"

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A node of the graph; its arguments hold nodes, no proxies."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        node.meta.update(traceback.current_meta())
        return node

    def proxy(self, node: Node) -> Any:
        """A proxy for a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Any] | None = None,
    ) -> Any:
        """A proxy for a new node, whose arguments hold proxies and values.

        `proxy_factory_fn` makes it, by default `proxy`.
        """
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        make = self.proxy if proxy_factory_fn is None else proxy_factory_fn
        return make(self.create_node(kind, target, args, kwargs, name, type_expr))

    def create_arg(self, a: Any) -> Any:
        """A value as an argument of a node; NotImplementedError for what code cannot hold."""
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            if any(isinstance(key, Proxy) for key in a):
                raise RuntimeError(
                    "Keys for dictionaries used as an argument cannot contain a Node"
                )
            return {key: self.create_arg(item) for key, item in a.items()}
        if isinstance(a, slice):
            return slice(*[self.create_arg(item) for item in (a.start, a.stop, a.step)])
        if isinstance(a, range):
            inner = (a.start, a.stop, a.step)
            return range(*[self.create_arg(item) for item in inner])
        if isinstance(a, (*PLAIN, Node, Tensor, type)):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """The truth of a proxy: TraceError, unless a tracer knows better."""
        raise TraceError(FLOW)

    def iter(self, obj: Any) -> Any:
        """The items of a proxy that is unpacked into names; TraceError for any other loop."""
        frame: Any = inspect.currentframe()
        frame = frame.f_back.f_back
        if frame is not None:
            code = {step.offset: step for step in dis.get_instructions(frame.f_code)}
            step = code.get(frame.f_lasti)
            if step is not None and step.opname == "UNPACK_SEQUENCE":
                return iter([obj[i] for i in range(step.argval)])
        raise TraceError(ITERATED)

    def keys(self, obj: Proxy) -> Any:
        """The keys of a proxy, which `**proxy` asks for."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Adds nodes to a graph that is there already.

    >>> graph = rg.fx.Graph()
    >>> x = rg.fx.Proxy(graph.placeholder("x"), rg.fx.proxy.GraphAppendingTracer(graph))
    >>> (rg.relu(x) + 1).node.args
    (relu, 1)
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


class Proxy:
    """A value that writes down what is done with it.

    Functions of the package take it for a tensor; its operators, methods and attributes are
    written down likewise. What would need its value raises TraceError.
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.node = node
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"Proxy has no attribute {name!r}")
        return Attribute(self, name)

    def __deepcopy__(self, memo: Any) -> Proxy:
        return Proxy(self.node, self.tracer)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """A call of the value."""
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Any:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TraceError(FLOW)

    def __contains__(self, item: Any) -> bool:
        raise TraceError(ITERATED)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. For a call of it to be "
            "recorded, write fx.wrap('len') at module scope"
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(
            "'Proxy' object does not support item assignment. Write torch.where or index_put, "
            "which return what they make"
        )

    def keys(self) -> Any:
        """The keys of a proxy, which `**proxy` asks for."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        tracers: dict[Any, None] = {}

        def note(value: Any) -> None:
            if isinstance(value, Proxy):
                tracers[value.tracer] = None

        map_aggregate((args, kwargs), note)
        if len(tracers) != 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace "
                f"operations {func}: all proxies of a call are to be of one"
            )
        tracer = next(iter(tracers))
        name = overriding.names.get(func, "")
        if name.startswith(METHOD):
            return tracer.create_proxy("call_method", name.removeprefix(METHOD), args, kwargs)
        return tracer.create_proxy("call_function", func, args, kwargs)


class Attribute(Proxy):
    """An attribute of a proxy, which is a node only if it is not called as a method."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node of the value, made when it is first asked for."""
        if self._node is None:
            args = (self.root, self.attr)
            self._node = self.tracer.create_proxy("call_function", getattr, args, {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """A call of the method that the attribute names."""
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter, whose shape is known while a function is traced: `param_shapes_constant`."""

    def __init__(self, node: Node, tracer: TracerBase, param: Tensor) -> None:
        super().__init__(node, tracer)
        self.param = param

    shape = property(lambda self: self.param.shape)
    ndim = property(lambda self: self.param.ndim)

    def size(self, dim: int | None = None) -> Any:
        """The sizes, or one of them."""
        return self.param.size(dim)

    def dim(self) -> int:
        """The number of dimensions."""
        return self.param.ndim

    def numel(self) -> int:
        """The number of elements."""
        return self.param.numel()

    nelement = numel


BOTH_SIDES = (
    *("add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "lshift", "rshift"),
    *("and_", "or_", "xor", "matmul"),
)
ONE_SIDE = ("eq", "ne", "lt", "gt", "le", "ge", "pos", "neg", "invert", "abs", "getitem")


def _operator(target: Any, turned: bool = False) -> Any:
    def record(*args: Any) -> Any:
        tracer = args[0].tracer
        return tracer.create_proxy("call_function", target, args[::-1] if turned else args, {})

    return record


for _name in (*BOTH_SIDES, *ONE_SIDE):
    _plain = _name.rstrip("_")
    setattr(Proxy, f"__{_plain}__", _operator(getattr(operator, _name)))
    if _name in BOTH_SIDES:
        setattr(Proxy, f"__r{_plain}__", _operator(getattr(operator, _name), turned=True))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]
