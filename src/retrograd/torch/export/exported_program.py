"""Exported programs: a graph, what its inputs and outputs are, and the module that it makes."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ... import modes
from ...engine.tensor import Tensor
from ...errors import UserError
from ..fx.functional import functional
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import map_arg
from ..library import ops
from ..library.aten import is_composed
from ..utils._pytree import TreeSpec, tree_flatten
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from .symbols import VIOLATED, Fakes, Range, Symbol, difference, resolve_sizes
from .tracing import ExportTracer, argument, no_draws

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CallSpec", "ExportedProgram", "default_decompositions"]

CALLED = (
    "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
)
MODE = (
    "Calling {name}() is not supported yet. An exported graph is of the mode that the module was "
    "in: call module.{name}() and export again"
)
BUILT = (
    "Trying to flatten user inputs with exported input tree spec:\n{wanted}\nbut actually got "
    "inputs with tree spec of:\n{found}.\nPlease check that the inputs have the same number and "
    "type of args and kwargs as the ones you used when tracing."
)


@dataclass
class CallSpec:
    """The structures of arguments and results."""

    in_spec: TreeSpec
    out_spec: TreeSpec


def check_guard(leaves: list[Any], name: str, place: Any, wanted: Any) -> None:
    """Raise AssertionError unless a size, or value, among the arguments is what it has to be."""
    leaf, dim = place
    found = leaves[leaf] if dim is None else leaves[leaf].shape[dim]
    if isinstance(wanted, Range):
        if found > wanted.upper:
            raise AssertionError(f"Guard failed: {name} <= {wanted.upper}")
        if found < wanted.lower and wanted.lower > 2:
            raise AssertionError(f"Guard failed: {name} >= {wanted.lower}")
        return
    if isinstance(wanted, tuple) and dim is not None:
        wanted = leaves[wanted[0]].shape[wanted[1]]
    if found != wanted:
        raise AssertionError(f"Guard failed: {name} == {wanted}")


class ExportedModule(GraphModule):
    """A module that runs an exported graph on arguments like those of the example."""

    _in_spec: TreeSpec
    _out_spec: TreeSpec
    _checks: list[tuple[str, Any, Any]]

    def recompile(self) -> Any:
        """Generate the function of the graph again, of which `forward` makes use."""
        made = super().recompile()
        kind: Any = type(self)
        kind.flat, kind.forward = kind.forward, ExportedModule.run
        return made

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """The result, after arguments have been compared with those of the example."""
        leaves, spec = tree_flatten((args, kwargs))
        if spec != self._in_spec:
            kwargs = {
                name: kwargs[name] for name in self._in_spec.child(1).context if name in kwargs
            }
            leaves, spec = tree_flatten((args, kwargs))
        if spec != self._in_spec:
            raise ValueError(BUILT.format(wanted=self._in_spec, found=spec))
        for name, place, wanted in self._checks:
            check_guard(leaves, name, place, wanted)
        with modes.Changed(grad=modes.state.grad):  # which the graph may change
            flat: Any = self.flat
            return self._out_spec.unflatten(flat(*leaves))

    def train(self, mode: bool = True) -> Any:
        """NotImplementedError: a graph is of one mode."""
        raise NotImplementedError(MODE.format(name="train" if mode else "eval"))

    def eval(self) -> Any:
        """NotImplementedError: a graph is of one mode."""
        return self.train(False)


class ExportedProgram:
    """A module's call as a graph of operators, with all that it reads: what `export` gives.

    Its `graph` takes parameters, buffers and other tensors as inputs before the arguments, as
    `graph_signature` says; `module()` is a module that has them. Printed, it shows the graph with
    dtypes and shapes. Source: PyTorch's class.

    >>> ep = rg.export.export(rg.nn.Linear(3, 2, bias=False), (rg.ones(4, 3),))
    >>> print(ep)
    ExportedProgram:
        class GraphModule(retrograd.nn.Module):
            def forward(self, p_weight: "f32[2, 3]", input: "f32[4, 3]"):
    ...
    """

    def __init__(
        self,
        graph_module: GraphModule,
        graph_signature: ExportGraphSignature,
        state_dict: dict[str, Any],
        constants: dict[str, Any],
        call_spec: CallSpec,
        symbols: list[Symbol],
        example_inputs: Any = None,
    ) -> None:
        self.graph_module, self.graph_signature = graph_module, graph_signature
        self.state_dict, self.constants, self.call_spec = state_dict, constants, call_spec
        self.symbols, self.example_inputs = symbols, example_inputs

    @property
    def graph(self) -> Any:
        """The graph."""
        return self.graph_module.graph

    @property
    def range_constraints(self) -> dict[Symbol, Range]:
        """The bounds of the sizes that may differ."""
        return {symbol: symbol.range for symbol in self.symbols}

    @property
    def tensor_constants(self) -> dict[str, Any]:
        """`constants`, by their older name."""
        return self.constants

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """The parameters with their names."""
        for name in self.graph_signature.parameters:
            yield name, self.state_dict[name]

    def parameters(self) -> Iterator[Any]:
        """The parameters."""
        for _, value in self.named_parameters():
            yield value

    def named_buffers(self) -> Iterator[tuple[str, Any]]:
        """The buffers with their names."""
        for name in self.graph_signature.buffers:
            held = self.state_dict if name in self.state_dict else self.constants
            yield name, held[name]

    def buffers(self) -> Iterator[Any]:
        """The buffers."""
        for _, value in self.named_buffers():
            yield value

    def module(self, check_guards: bool = True) -> ExportedModule:
        """A module that runs the graph on these very parameters and buffers.

        check_guards: compare the sizes of arguments with those of the example, and other values.

        >>> ep = rg.export.export(rg.nn.ReLU(), (rg.ones(2),))
        >>> ep.module()(rg.tensor([-1.0, 2.0]))
        tensor([0., 2.])
        >>> ep.module()(rg.ones(3))
        Traceback (most recent call last):
            ...
        AssertionError: Guard failed: input.size()[0] == 2
        """
        parts = dict(self.graph_module.named_children())
        held = {**self.constants, **self.state_dict, **parts}
        made = ExportedModule(held, self.with_attributes())
        buffers = self.graph_signature.non_persistent_buffers
        for name, value in self.constants.items():
            place, _, own = name.rpartition(".")
            owner = made.get_submodule(place)
            delattr(owner, own)
            if name in buffers:
                owner.register_buffer(own, value, persistent=False)
            else:
                setattr(owner, own, value)
        made._in_spec, made._out_spec = self.call_spec.in_spec, self.call_spec.out_spec
        made._checks = self.checks() if check_guards else []
        return made

    def with_attributes(self) -> Graph:
        """The graph with attributes in place of inputs that are no arguments, and all writes."""
        graph, known = Graph(), {}
        inputs = dict(zip(self.graph.nodes, self.graph_signature.input_specs, strict=False))
        by_name = {node.name: node for node in self.graph.nodes}
        for node in self.graph.nodes:
            spec = inputs.get(node) if node.op == "placeholder" else None
            if spec is not None and spec.kind is not InputKind.USER_INPUT:
                known[node] = graph.create_node("get_attr", spec.target, name=spec.target)
            elif node.op != "output":
                known[node] = graph.node_copy(node, known.__getitem__)
        results = map_arg(self.graph.output_node().args[0], known.__getitem__)
        kept = []
        placed = {spec.target: node for node, spec in inputs.items() if spec.target is not None}
        for spec, value in zip(self.graph_signature.output_specs, results, strict=True):
            if spec.kind is OutputKind.USER_OUTPUT:
                kept.append(value)
            else:
                target = known[placed.get(spec.target) or by_name[spec.target]]
                graph.call_function(ops.aten.copy_.default, (target, value))
        graph.output(tuple(kept))
        return graph

    def checks(self) -> list[tuple[str, Any, Any]]:
        """The checks of a call: a name, a place among the arguments, the size or value required."""
        specs = [s for s in self.graph_signature.input_specs if s.kind is InputKind.USER_INPUT]
        nodes = {node.name: node for node in self.graph.nodes}
        first = {place: symbol.places[0] for symbol in self.symbols for place in symbol.places}
        bounds = {symbol.places[0]: symbol.range for symbol in self.symbols}
        found: list[tuple[str, Any, Any]] = []
        for i, spec in enumerate(specs):
            if isinstance(spec.arg, ConstantArgument):
                found.append((spec.arg.name, (i, None), spec.arg.value))
                continue
            for dim, size in enumerate(nodes[spec.arg.name].meta["val"]._array.shape):
                place = i, dim
                wanted = size if place not in first else bounds.get(place, first[place])
                found.append((f"{spec.arg.name}.size()[{dim}]", place, wanted))
        return found

    def run_decompositions(self, decomp_table: Any = None) -> ExportedProgram:
        """The program by PyTorch's core operators, without writes: new values are outputs.

        decomp_table: functions to run in place of operators, by default `default_decompositions()`;
        an operator whose parts would fix a size that may differ stays.

        >>> ep = rg.export.export(rg.nn.Linear(3, 2), (rg.ones(4, 3),)).run_decompositions()
        >>> [str(node.target) for node in ep.graph.nodes][3:-1]
        ['aten.permute.default', 'aten.addmm.default']
        """
        table = default_decompositions() if decomp_table is None else decomp_table
        if self.symbols:
            used = {node.target for node in self.graph.nodes if node.target in table}
            fixed = [each for each in used if self.decomposed({each: table[each]})[2]]
            table = {key: value for key, value in table.items() if key not in fixed}
        first, second, why = self.decomposed(table)
        if why:
            raise UserError(VIOLATED.format(names=self.symbols, why=why))
        if self.symbols:
            resolve_sizes(first.module, second.module, self.symbols)
        signature = ExportGraphSignature(first.tracer.inputs, first.outputs)
        return ExportedProgram(
            *(first.module, signature, self.state_dict, first.tracer.constants),
            *(self.call_spec, self.symbols, self.example_inputs),
        )

    def decomposed(self, table: Any) -> tuple[Decomposed, Decomposed, str]:
        """The graph by other operators, at two sizes, and in what these differ."""
        first = Decomposed(self, table, False)
        second = Decomposed(self, table, True) if self.symbols else first
        return first, second, difference(first.module, second.module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """RuntimeError: `module()` is what can be called."""
        raise RuntimeError(CALLED)

    def __str__(self) -> str:
        def shifted(text: str) -> str:
            return textwrap.indent(text, "    ", lambda line: True)

        return (
            f"ExportedProgram:\n{shifted(self.graph_module.print_readable(False))}"
            f"Graph signature: \n{shifted(str(self.graph_signature)[1:] + chr(10))}"
            f"Range constraints: {self.range_constraints}\n"
        )

    __repr__ = __str__


class Decomposed:
    """The graph of a program once more, by other operators: at sizes of the example, or `other`."""

    def __init__(self, program: ExportedProgram, table: Any, other: bool) -> None:
        fakes = Fakes(program.symbols, other)
        self.tracer = tracer = ExportTracer(table)
        tracer.composite, tracer.constants = False, dict(program.constants)
        given, leaf = [], 0
        for spec, node in zip(
            program.graph_signature.input_specs, program.graph.nodes, strict=False
        ):
            value = node.meta["val"] if isinstance(spec.arg, TensorArgument) else spec.arg.value
            own = spec.kind is InputKind.USER_INPUT
            value = fakes.of(value, leaf if own else -1)
            leaf += own
            given.append(tracer.lift(spec.kind, node.name, spec.target, value))
            tracer.inputs[-1].persistent = spec.persistent
        with no_draws(), fakes.mode:
            tracer.give(tracer.run(program.graph_module, given, {}))
        graph, written = functional(tracer.graph)
        kinds = {spec.arg.name: spec for spec in tracer.inputs}
        before = []
        for name, node in written.items():
            buffer = kinds[name].kind is not InputKind.USER_INPUT
            kind = OutputKind.BUFFER_MUTATION if buffer else OutputKind.USER_INPUT_MUTATION
            target = kinds[name].target if buffer else name
            before.append((node, OutputSpec(kind, TensorArgument(node.name), target)))
        output = graph.output_node()
        output.args = ((*[node for node, _ in before], *output.args[0]),)
        user = [argument(node) for node in output.args[0][len(before) :]]
        self.outputs = [spec for _, spec in before]
        self.outputs += [OutputSpec(OutputKind.USER_OUTPUT, each, None) for each in user]
        self.module = GraphModule(tracer.root, graph)


def default_decompositions() -> dict[Any, Any]:
    """The operators that `run_decompositions` takes apart, and functions of which they consist.

    Those that draw random numbers stay. A program takes out what is to stay.

    >>> table = rg.export.default_decompositions()
    >>> del table[rg.library.ops.aten.linear.default]
    >>> ep = rg.export.export(rg.nn.Linear(3, 2), (rg.ones(4, 3),)).run_decompositions(table)
    >>> [str(node.target) for node in ep.graph.nodes][3:-1]
    ['aten.linear.default']
    """
    names = [name for name in dir(ops.aten) if is_composed(name) and "drop" not in name]
    packets = [getattr(ops.aten, name) for name in names]
    table = {getattr(p, which): p.function for p in packets for which in p.overloads()}
    return {**table, ops.aten.t.default: turned, ops.aten.transpose.int: turned}


def turned(x: Tensor, dim0: int = 0, dim1: int = -1) -> Tensor:
    """Two dimensions in each other's place."""
    dims = list(range(x.ndim))
    if dims:
        dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
    return x.permute(dims)
