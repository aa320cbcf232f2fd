"""`make_fx`: the operators that a function computes with, as a graph.

NOTE [Graphs of operators]
1. The function runs once, on the values given, in a mode that sees operators
   (`library/dispatch.py`). Each call is a node, also those of gradients and of `vmap`; what depends
   on no value, such as a loop over sizes, leaves only its operators.
2. A tensor is known by its array, so that it may be kept in a node, or be another tensor's data.
   One that was made elsewhere is an attribute of the graph's module.
3. A branch on a tensor's value cannot be in a graph: it raises.
"""

from __future__ import annotations

import inspect
import operator
from typing import TYPE_CHECKING, Any

from .... import modes, pytree
from ....engine.overriding import count_mode
from ....engine.tensor import Tensor
from ....nn.modules.module import Module
from ....nn.parameter import Parameter
from ..._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from ...library import ops
from ...library.dispatch import Dispatcher
from ..functional import functional
from ..graph import Graph
from ..graph_module import GraphModule, put

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..node import Node

__all__ = ["get_proxy_mode", "make_fx"]

VALUE = (
    "It appears that you're trying to get value out of a tracing tensor with {func} - erroring "
    "out! It's likely that this is caused by data-dependent control flow or similar. Write "
    "torch.where, or torch.cond outside of the graph"
)
SYMBOLIC = (
    "make_fx(): tracing_mode={mode!r} is not here: sizes are numbers while a function runs. Use "
    "'real', and trace again for other sizes"
)


class OperatorTracer:
    """A mode that writes down the operators of its block: NOTE [Graphs of operators].

    `composite`: operators that are composed of others are written down themselves.
    """

    composite = False

    def __init__(self, decompositions: dict[Any, Callable[..., Any]]) -> None:
        self.graph, self.root, self.decompositions = Graph(), Module(), decompositions
        self.nodes: dict[int, tuple[Any, Node]] = {}  # by the array, which is kept
        self.within: list[Any] = []  # operators that are taken apart

    def know(self, value: Any, node: Node) -> None:
        """Let a node stand for a tensor, and items of it for those in a container."""
        if isinstance(value, Tensor):
            self.nodes[id(value._array)] = value._array, node
        elif isinstance(value, (tuple, list, dict)):
            for key in value if isinstance(value, dict) else range(len(value)):
                if any(isinstance(leaf, Tensor) for leaf in pytree.flatten(value[key])):
                    item = self.graph.call_function(operator.getitem, (node, key))
                    item.meta |= {"val": value[key]} if "val" in node.meta else {}
                    self.know(value[key], item)

    def node_of(self, value: Any) -> Any:
        """The node that stands for a tensor; any other value itself."""
        if not isinstance(value, Tensor):
            return value
        if id(value._array) not in self.nodes:
            self.know(value, self.constant(value))
        return self.nodes[id(value._array)][1]

    def constant(self, value: Tensor) -> Node:
        """The node of a tensor that was made elsewhere: NOTE [Graphs of operators], 2."""
        kind = "_param_constant" if isinstance(value, Parameter) else "_tensor_constant"
        taken = sum(node.op == "get_attr" and kind in node.name for node in self.graph.nodes)
        put(self.root, f"{kind}{taken}", value)
        return self.graph.get_attr(f"{kind}{taken}")

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in self.decompositions and func not in self.within:
            self.within.append(func)  # of which it may consist itself
            try:
                with self.block():
                    return self.decompositions[func](*args, **kwargs)
            finally:
                self.within.pop()
        if func is ops.aten.lift_fresh.default:  # what it gives may be written
            func = ops.aten.lift_fresh_copy.default
        if func is ops.aten._local_scalar_dense.default and id(args[0]._array) in self.nodes:
            if not isinstance(args[0], FakeTensor):  # which raise themselves, but for constants
                raise RuntimeError(VALUE.format(func=func))
            return func(*args, **kwargs)
        placed, named = (pytree.map_leaves(self.node_of, each) for each in (tuple(args), kwargs))
        name = func.overloadpacket.__name__
        node = self.graph.create_node("call_function", func, placed, named, name)
        found = func(*args, **kwargs)
        if any(isinstance(each, FakeTensor) for each in pytree.flatten(found)):
            node.meta["val"] = found
        self.know(found, node)
        return found

    def block(self) -> Any:
        """The block whose operators are written down."""
        mine = Dispatcher(self, self.composite)
        return modes.Changed(dispatchers=(*modes.state.dispatchers, mine))

    def trace(self, function: Callable[..., Any], args: tuple[Any, ...]) -> GraphModule:
        """The graph of a call."""
        for name, value in zip(names_of(function, len(args)), args, strict=True):
            alone = isinstance(value, Tensor)
            node = self.graph.placeholder(f"{name}_1" if alone else name)
            node.meta |= {"val": value} if isinstance(value, FakeTensor) else {}
            self.know(value, node)
        count_mode(1)
        try:
            with self.block():
                found = function(*args)
        finally:
            count_mode(-1)
        self.graph.output(pytree.map_leaves(self.node_of, found))
        self.graph.eliminate_dead_code()
        return GraphModule(self.root, self.graph, getattr(function, "__name__", "GraphModule"))

    def functionalized(self, function: Any, args: Any, kwargs: Any, views: bool) -> Any:
        """The result of a function, traced without its writes: `func.functionalize`."""
        leaves = pytree.flatten((args, kwargs))
        modes_of = [x.fake_mode for x in leaves if isinstance(x, FakeTensor)]
        mode = modes_of[0] if modes_of else FakeTensorMode()
        inner, fakes, given = OperatorTracer(self.decompositions), [], {}
        for i, value in enumerate(leaves):
            node = inner.graph.placeholder(f"arg{i}")
            given[node.name] = value
            fakes.append(mode.like(value) if isinstance(value, Tensor) else value)
            node.meta["val"] = fakes[-1]
            inner.know(fakes[-1], node)
        placed, named = pytree.unflatten((args, kwargs), fakes)
        with modes.Changed(dispatchers=()), mode, inner.block():
            found = function(*placed, **named)
        outputs = pytree.flatten(found)
        inner.graph.output(tuple([inner.node_of(each) for each in outputs]))
        graph, written = functional(inner.graph, views)
        last = graph.output_node()
        last.args = ((*last.args[0], *written.values()),)
        results = GraphModule(inner.root, graph)(*leaves)
        for name, value in zip(written, results[len(outputs) :], strict=True):
            target = given[name] if name in given else getattr(inner.root, name)
            target.copy_(value)
        return pytree.unflatten(found, results[: len(outputs)])


def names_of(function: Callable[..., Any], count: int) -> list[str]:
    """The names of a function's first arguments; arg0 and so on where it has no such names."""
    try:
        parameters = list(inspect.signature(function).parameters.values())[:count]
    except (TypeError, ValueError):
        parameters = []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if len(parameters) < count or not all(each.kind in kinds for each in parameters):
        return [f"arg{i}" for i in range(count)]
    return [each.name for each in parameters]


def make_fx(
    f: Callable[..., Any],
    decomposition_table: dict[Any, Callable[..., Any]] | None = None,
    tracing_mode: str = "real",
) -> Callable[..., GraphModule]:
    """A function that runs `f` on its arguments and gives a module of the operators in that call.

    decomposition_table: functions to run, and write down, in place of operators; tracing_mode:
    "real" or "fake", of which both run on the values given. NotImplementedError for "symbolic". A
    value that is no tensor is a constant of the graph. Raises RuntimeError where the way depends on
    a tensor's value. Source: PyTorch's function.

    >>> from retrograd.fx.experimental.proxy_tensor import make_fx
    >>> traced = make_fx(rg.func.grad(lambda x: x.sin().sum()))(rg.ones(2))
    >>> traced(rg.zeros(2)), [str(node.target) for node in traced.graph.nodes][-3:-1]
    (tensor([1., 1.]), ['aten.cos.default', 'aten.mul.Tensor'])
    """
    if tracing_mode not in ("real", "fake"):
        raise NotImplementedError(SYMBOLIC.format(mode=tracing_mode))

    def traced(*args: Any) -> GraphModule:
        tracer = OperatorTracer(decomposition_table or {})
        if tracing_mode == "real":
            return tracer.trace(f, args)
        mode = FakeTensorMode()
        fakes = [mode.from_tensor(x) if isinstance(x, Tensor) else x for x in pytree.flatten(args)]
        with mode:
            return tracer.trace(f, pytree.unflatten(args, fakes))

    return traced


def get_proxy_mode() -> Any:
    """The innermost mode of `make_fx` that the calling thread is in, or None.

    >>> from retrograd.fx.experimental.proxy_tensor import get_proxy_mode
    >>> get_proxy_mode() is None
    True
    """
    found = [each.mode for each in modes.state.dispatchers if isinstance(each.mode, OperatorTracer)]
    return found[-1] if found else None
