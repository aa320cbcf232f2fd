"""The operators of a module's call as a graph, whose inputs are all that the call reads.

NOTE [Exported graphs]
1. The module runs once, on FakeTensors: nothing is computed, and a branch on a value raises. What
   is written down are operators as the program calls them, `linear` and not its products; no
   formulas of gradients are in it, for gradients come when the graph runs.
2. Parameters, buffers, other tensors of the module and those that `tensor` makes are placeholders,
   before those of the arguments. Whether gradients are recorded is told by nodes where it changes.
3. Sizes that may differ are numbers that know their node (`sizes`): what a program computes
   of them is computed in the graph, and what it compares is checked there.
4. Each branch of `cond` is a graph of its own, whose operands are all that both read.
"""

from __future__ import annotations

import functools
import inspect
import operator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ... import modes, pytree
from ...engine.overriding import count_mode
from ...engine.tensor import Tensor
from ...errors import UserError
from ...func.calls import replaced
from ...kernels.allocation import has_memory
from ...ops.elementwise.comparison import equal
from ...random import get_rng_state
from .._C import _set_grad_enabled
from .._guards import active_fake_mode
from .._higher_order_ops.cond import cond
from .._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
)
from ..fx.experimental.proxy_tensor import OperatorTracer
from ..fx.graph_module import GraphModule, put
from ..fx.node import Node, has_side_effect
from ..library import ops
from ..types import plain
from ..utils._pytree import tree_flatten, tree_leaves_with_path
from .graph_signature import (
    ConstantArgument,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from .sizes import Dynamic, check, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["ExportTracer", "argument_names"]

VALUE = (
    "Could not guard on data-dependent expression: {func} asks for a value while the module is "
    "exported, when tensors have none. Write torch.where, or torch.cond for a branch"
)
LEAKED = (
    "a tensor of a branch of cond, or of another graph, is used outside of it. Return it from the "
    "branch"
)
BRANCHES = "cond: both branches must give tensors of the same shapes and dtypes, built alike"
DRAWN = (
    "the module draws random numbers by a function that is no operator of PyTorch's here: they "
    "would be constants of the graph. Use torch.rand, torch.rand_like, bernoulli or dropout"
)
SHAPE = (
    "{func} gives a shape that depends on values, which an exported graph does not have: sizes are "
    "numbers here. Use a function of fixed shape, such as where"
)


has_side_effect(_set_grad_enabled)


class ExportTracer(OperatorTracer):
    """A mode that writes down a module's call: NOTE [Exported graphs]."""

    composite = True

    def __init__(self, table: Any = None, outer: ExportTracer | None = None) -> None:
        super().__init__(table or {})
        self.outer, self.grad = outer, modes.state.grad
        self.inputs: list[InputSpec] = []
        self.constants: dict[str, Tensor] = {}
        self.attributes: dict[int, str] = {}  # of the module that are tensors, by their ids
        self.sizes: dict[Any, Node] = {}
        self.taken: list[Tensor] = []  # of an outer tracer

    # -- inputs --------------------------------------------------------------------------------

    def lift(self, kind: InputKind, name: str, target: str | None, value: Any) -> Any:
        """Add a placeholder for a value to the graph, and return the value."""
        taken = {node.name for node in self.graph.nodes}
        node = self.graph.placeholder(name)
        if name not in taken:  # but Python's, such as `input`
            node.name = name
        alone = isinstance(value, Tensor)
        arg = TensorArgument(node.name) if alone else ConstantArgument(node.name, value)
        self.inputs.append(InputSpec(kind, arg, target))
        if alone:
            node.meta["val"] = value
            self.know(value, node)
        return value

    def constant(self, value: Tensor) -> Node:
        """A placeholder for a tensor that is no argument, before those of the arguments."""
        if self.outer is not None:
            self.taken.append(value)
            return self.graph.placeholder(self.outer.node_of(value).name)
        if not has_memory(value._array):
            raise UserError(LEAKED)
        taken = sum(name.startswith("lifted_tensor_") for name in self.constants)
        target = self.attributes.get(id(value), f"lifted_tensor_{taken}")
        place = sum(spec.kind is not InputKind.USER_INPUT for spec in self.inputs)
        nodes = self.graph.find_nodes(op="placeholder")
        with self.graph.inserting_before(next(iter([*nodes[place:], *self.graph.nodes]), None)):
            node = self.graph.placeholder(f"c_{target.replace('.', '_')}")
        mode: Any = active_fake_mode()
        node.meta["val"] = mode.from_tensor(value)
        spec = InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), target)
        self.inputs.insert(place, spec)
        self.constants[target] = value
        return node

    # -- sizes ---------------------------------------------------------------------------------

    def size(self, tensor: Any, dim: int, value: int) -> Any:
        """The size of a tensor, which is read where it is used."""
        target, key = ops.aten.sym_size.int, (id(tensor._array), dim)

        def made() -> Node:
            if key not in self.sizes:
                self.sizes[key] = self.computed(target, (tensor, dim), value)
            return self.sizes[key]

        return number(value, self, made)

    def sized(self, function: Any, given: Any, value: Any) -> Any:
        """A number computed from sizes, with its node."""
        return number(value, self, functools.cache(lambda: self.computed(function, given, value)))

    def computed(self, function: Any, given: Any, value: Any) -> Node:
        """The node that computes a number."""
        node = self.graph.call_function(function, self.placed(given))
        node.meta["val"] = value
        return node

    def compared(self, function: Any, sign: str, given: Any, found: bool) -> None:
        """Let the graph check what a comparison of sizes gave while it is written down."""
        stack = modes.state.dispatchers
        if not stack or stack[-1].mode is not self:
            return
        placed = self.placed(given)
        node = self.graph.call_function(function, placed)
        if not found:
            node = self.graph.call_function(operator.not_, (node,))
        self.graph.call_function(check, (node, f"({placed[0]} {sign} {placed[1]}) == {found}"))

    def placed(self, values: Any) -> Any:
        """Values with nodes in place of tensors and sizes."""
        return pytree.map_leaves(self.node_of, values)

    def node_of(self, value: Any) -> Any:
        """The node of a tensor or size; any other value itself."""
        if isinstance(value, Dynamic):
            return value.made() if value.tracer is self else plain(value)
        return super().node_of(value)

    # -- operators -----------------------------------------------------------------------------

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if self.grad is not modes.state.grad:
            self.grad = modes.state.grad
            self.graph.call_function(_set_grad_enabled, (self.grad,))
        if func is ops.aten.sym_size.int:
            return self.size(args[0], args[1], args[0]._array.shape[args[1]])
        try:
            return super().__torch_dispatch__(func, types, args, kwargs)
        except NotImplementedError:
            if func not in self.decompositions or func in self.within:
                raise
        self.within.append(func)  # its parts ask for values: it stays whole
        return super().__torch_dispatch__(func, types, args, kwargs)

    def branch(self, pred: Any, functions: Any, operands: Any) -> Any:
        """A call of `cond`: NOTE [Exported graphs], 4."""
        read: list[Tensor] = []
        for function in functions:
            read += self.inner(function, operands, read)[1]
        modules = [self.inner(function, operands, read) for function in functions]
        flat, structure = tree_flatten(modules[0][2])
        if [leaf_of(x) for x in flat] != [leaf_of(x) for x in tree_flatten(modules[1][2])[0]]:
            raise RuntimeError(BRANCHES)
        names = []
        for word, (module, _, _) in zip(("true", "false"), modules, strict=True):
            taken = sum(f"{word}_graph_" in node.name for node in self.graph.nodes)
            put(self.root, f"{word}_graph_{taken}", module)
            names.append(self.graph.get_attr(f"{word}_graph_{taken}"))
        given = (pred, *names, (*pytree.flatten(operands), *read))
        node = self.graph.call_function(cond, self.placed(given))
        node.meta["val"] = tuple(flat)
        self.know(tuple(flat), node)
        return structure.unflatten(flat)

    def inner(self, function: Any, operands: Any, read: list[Tensor]) -> Any:
        """The graph of a branch, what it reads beside operands and `read`, and what it gives."""
        tracer = ExportTracer(outer=self)
        for i, value in enumerate(pytree.flatten(operands)):
            name = self.node_of(value).name if isinstance(value, Tensor) else f"arg{i}"
            tracer.lift(InputKind.USER_INPUT, name, None, value)
        for value in read:
            tracer.node_of(value)
        tracer.taken = []
        with modes.Changed(dispatchers=modes.state.dispatchers[:-1]), tracer.block():
            found = function(*operands)
        tracer.graph.output(tuple([tracer.node_of(x) for x in pytree.flatten(found)]))
        tracer.graph.eliminate_dead_code()
        return GraphModule(tracer.root, tracer.graph), tracer.taken, found

    # -- outputs -------------------------------------------------------------------------------

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The result of a function that is traced; errors say what a graph cannot have."""
        count_mode(1)
        try:
            with modes.Changed(below=not self.composite), self.block():
                return function(*args, **kwargs)
        except DataDependentOutputException as error:
            text = SHAPE if isinstance(error, DynamicOutputShapeException) else VALUE
            raise UserError(text.format(func=error.func)) from error
        finally:
            count_mode(-1)
            if self.grad is not modes.state.grad:
                self.graph.call_function(_set_grad_enabled, (modes.state.grad,))

    def give(self, found: Any) -> tuple[Any, list[OutputSpec]]:
        """Write the output down; how it is built, and what its leaves are."""
        leaves, structure = tree_flatten(found)
        nodes = [self.node_of(leaf) for leaf in leaves]
        self.graph.output(tuple(nodes))
        return structure, [OutputSpec(OutputKind.USER_OUTPUT, argument(n), None) for n in nodes]


def leaf_of(value: Any) -> Any:
    """What of a result both branches of `cond` have to agree on."""
    return (value._array.shape, value.dtype) if isinstance(value, Tensor) else value


def argument(node: Any) -> TensorArgument | ConstantArgument:
    """The argument that an output is: a tensor's node, or a constant."""
    return TensorArgument(node.name) if isinstance(node, Node) else ConstantArgument("", node)


def argument_names(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """A name for each leaf of the arguments: that of the parameter, and keys that lead there.

    >>> from retrograd.export.tracing import argument_names
    >>> argument_names(lambda x, *rest, k: 0, ({"a": 1, "b": [2]}, 3), {"k": 4})
    ['x_a', 'x_b_0', 'rest_0', 'k']
    """
    bound = inspect.signature(function).bind(*args, **kwargs)
    names = []
    for name, kind in inspect.signature(function).parameters.items():
        if kind.kind is kind.VAR_POSITIONAL:
            names += [f"{name}_{i}" for i in range(len(bound.arguments.get(name, ())))]
        elif name in bound.arguments and name not in kwargs:
            names.append(name)
    pairs = [*zip(names, args, strict=False), *kwargs.items()]
    found = []
    for name, value in pairs:
        for path, _ in tree_leaves_with_path(value):
            found.append("_".join([name, *(str(key_of(key)) for key in path)]))
    return found


def key_of(key: Any) -> Any:
    """The key, index or name that a key of a path holds."""
    return next(getattr(key, name) for name in ("key", "idx", "name") if hasattr(key, name))


class Traced:
    """A module's call as it was written down."""

    def __init__(self, module: Any, args: Any, kwargs: Any, mode: FakeTensorMode) -> None:
        """Trace a call with these arguments, of which tensors are FakeTensors of `mode`."""
        self.tracer = tracer = ExportTracer()
        fakes = {}
        for kind, letter, named in (
            (InputKind.PARAMETER, "p", module.named_parameters(remove_duplicate=False)),
            (InputKind.BUFFER, "b", module.named_buffers(remove_duplicate=False)),
        ):
            for name, value in named:
                fakes[name] = mode.from_tensor(value)
                tracer.lift(kind, f"{letter}_{name.replace('.', '_')}", name, fakes[name])
        tracer.attributes = attributes_of(module)
        leaves, self.in_spec = tree_flatten((args, kwargs))
        names = argument_names(module.forward, args, kwargs)
        for name, leaf in zip(names, leaves, strict=True):
            tracer.lift(InputKind.USER_INPUT, name, None, leaf)
        with no_draws(), mode, replaced(module, fakes):
            found = tracer.run(module, args, kwargs)
            own = dict(module.named_buffers(remove_duplicate=False))
            for name, fake in fakes.items():
                if name in own and own[name] is not fake:  # another one was assigned
                    placed = tracer.placed((fake, own[name]))
                    tracer.graph.call_function(ops.aten.copy_.default, placed)
            self.out_spec, self.outputs = tracer.give(found)
        tracer.graph.eliminate_dead_code()
        self.graph_module = GraphModule(tracer.root, tracer.graph)


@contextmanager
def no_draws() -> Iterator[None]:
    """A block after which UserError is raised if it has drawn random numbers."""
    before = get_rng_state()
    yield
    if not equal(before, get_rng_state()):
        raise UserError(DRAWN)


def attributes_of(module: Any) -> dict[int, str]:
    """The paths of a module's tensors that are neither parameters nor buffers, by their ids."""
    return {
        id(value): f"{path}.{name}" if path else name
        for path, part in module.named_modules()
        for name, value in vars(part).items()
        if isinstance(value, Tensor)
    }
