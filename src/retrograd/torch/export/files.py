"""Exported programs in files: nodes as plain data, and tensors, as `save` writes both.

Nothing in such a file is run: of functions it has names, to which operators of `library.ops` and
`TARGETS` give a meaning.
"""

from __future__ import annotations

import operator
from typing import Any

from ... import return_types, serialization
from ...engine.placement import CPU
from ...engine.registry import OPS
from ...engine.tensor import Tensor
from ...ops.creation.strided import empty_strided
from .._C import _set_grad_enabled
from .._higher_order_ops.cond import cond
from .._subclasses.fake_tensor import FakeTensorMode
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..library import ops
from ..library.translation import own
from ..utils._pytree import tree_flatten
from .dynamic_shapes import Dim
from .exported_program import CallSpec, ExportedProgram
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from .sizes import FUNCTIONS, check
from .symbols import Range, Symbol

__all__ = ["load", "save"]

FORMAT = "retrograd.export 1"
TARGETS: dict[str, Any] = {
    **{f"operator.{name}": function for name, function in FUNCTIONS.items()},
    **{"operator.getitem": operator.getitem, "cond": cond, "check": check},
    "_set_grad_enabled": _set_grad_enabled,
}
NAMES = {function: name for name, function in TARGETS.items()}
OTHER = "{f} is no file of an exported program that retrograd.export.save has written"


def save(ep: ExportedProgram, f: Any, *, extra_files: dict[str, str] | None = None) -> None:
    """Write a program to a path, or a file opened for writing bytes.

    extra_files: texts by name, to be read again by `load`. The file is one of this package's own.
    Raises TypeError for what a graph calls or holds that is no plain data. Source: PyTorch's
    function.

    >>> import io
    >>> file = io.BytesIO()
    >>> rg.export.save(rg.export.export(rg.nn.ReLU(), (rg.ones(2),)), file)
    >>> _ = file.seek(0)
    >>> rg.export.load(file).module()(rg.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    signature, spec = ep.graph_signature, ep.call_spec
    held = {
        "format": FORMAT,
        "graph": written(ep.graph_module),
        "inputs": [
            (s.kind.name, plain(s.arg), s.target, s.persistent) for s in signature.input_specs
        ],
        "outputs": [(s.kind.name, plain(s.arg), s.target) for s in signature.output_specs],
        "state": dict(ep.state_dict),
        "constants": dict(ep.constants),
        "specs": [each.unflatten([0] * each.num_leaves) for each in (spec.in_spec, spec.out_spec)],
        "symbols": [(s.name, s.size, s.places, s.range.lower, s.range.upper) for s in ep.symbols],
        "example": ep.example_inputs,
        "extra": extra_files or {},
    }
    serialization.save(held, f)


def load(f: Any, *, extra_files: dict[str, str] | None = None) -> ExportedProgram:
    """A program from a file that `save` has written.

    extra_files: a dict whose keys get the texts that were saved. Nothing in the file is run.
    Raises ValueError for another file. Source: PyTorch's function.
    """
    with serialization.safe_globals(
        [k for k in vars(return_types).values() if isinstance(k, type)]
    ):
        held = serialization.load(f, weights_only=True)
    if not isinstance(held, dict) or held.get("format") != FORMAT:
        raise ValueError(OTHER.format(f=f))
    for name in extra_files or ():
        extra_files[name] = held["extra"][name]  # type: ignore[index]
    inputs = [InputSpec(InputKind[k], argument(a), t, p) for k, a, t, p in held["inputs"]]
    outputs = [OutputSpec(OutputKind[k], argument(a), t) for k, a, t in held["outputs"]]
    symbols = []
    for name, size, places, low, high in held["symbols"]:
        symbols.append(Symbol(Dim(name, min=low, max=high), size, places))
        symbols[-1].range = Range(low, high)
    return ExportedProgram(
        read(held["graph"]),
        ExportGraphSignature(inputs, outputs),
        held["state"],
        held["constants"],
        CallSpec(*[tree_flatten(tree)[1] for tree in held["specs"]]),
        symbols,
        held["example"],
    )


def plain(arg: Any) -> tuple[Any, ...]:
    """An input or output as plain data."""
    return (arg.name,) if isinstance(arg, TensorArgument) else (arg.name, arg.value)


def argument(parts: tuple[Any, ...]) -> Any:
    """An input or output from plain data."""
    return TensorArgument(*parts) if len(parts) == 1 else ConstantArgument(*parts)


def name_of(target: Any) -> str:
    """The name of a function; TypeError for one that has none in files."""
    if hasattr(target, "overloadpacket"):
        return f"{target.namespace}::{target.__name__}"
    if target not in NAMES:
        raise TypeError(f"{target!r} cannot be in the file of a program: it is no operator")
    return NAMES[target]


def function_of(name: str) -> Any:
    """The function of a name."""
    if name in TARGETS:
        return TARGETS[name]
    namespace, _, path = name.partition("::")
    packet, _, which = path.partition(".")
    if namespace == "retrograd":
        return getattr(own(OPS[packet]), which)
    operator = getattr(getattr(ops, namespace), packet)
    return getattr(operator, which) if which else operator


def written(module: GraphModule) -> dict[str, Any]:
    """A graph, and those of branches, as plain data."""
    rows = []
    for node in module.graph.nodes:
        target = node.target if isinstance(node.target, str) else name_of(node.target)
        given = data((node.args, node.kwargs))
        values = value_of(node.meta.get("val"))
        rows.append((node.name, node.op, target, given, values, node.meta.get("symbolic")))
    parts = {n: written(p) for n, p in module.named_children() if isinstance(p, GraphModule)}
    return {"nodes": rows, "parts": parts}


def data(value: Any) -> Any:
    """Arguments with plain lists and dicts, and names of nodes."""
    if isinstance(value, Node):
        return {"node": value.name}
    if isinstance(value, dict):
        return {key: data(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return (tuple if isinstance(value, tuple) else list)(map(data, value))
    return value


def value_of(value: Any) -> Any:
    """A value as plain data: a tensor's sizes, strides, dtype and whether it requires grad."""
    if isinstance(value, (tuple, list)):
        return tuple(map(value_of, value))
    if not isinstance(value, Tensor):
        return value
    symbolic = getattr(value, "symbolic", None)
    sizes = list(value._array.shape), list(value.stride())
    return {"tensor": (*sizes, value.dtype, value.requires_grad, symbolic)}


def read(held: dict[str, Any]) -> GraphModule:
    """A graph of plain data."""
    graph, mode = Graph(), FakeTensorMode()
    known: dict[str, Any] = {}

    def again(value: Any) -> Any:
        if isinstance(value, dict):
            if value.keys() == {"node"}:
                return known[value["node"]]
            return {key: again(each) for key, each in value.items()}
        return type(value)(map(again, value)) if isinstance(value, (tuple, list)) else value

    for name, op, target, (args, kwargs), values, symbolic in held["nodes"]:
        function = function_of(target) if op == "call_function" else target
        node = graph.create_node(op, function, again(args), again(kwargs), name)
        node.name, known[name] = name, node
        if values is not None:
            node.meta["val"] = revived(values, mode)
        if symbolic is not None:
            node.meta["symbolic"] = symbolic
    return GraphModule({name: read(part) for name, part in held["parts"].items()}, graph)


def revived(value: Any, mode: FakeTensorMode) -> Any:
    """Values with FakeTensors in place of what is known of tensors."""
    if isinstance(value, dict):
        size, stride, dtype, requires_grad, symbolic = value["tensor"]
        made: Any = mode.like(empty_strided(size, stride, dtype=dtype, device="meta"))
        made.fake_device = CPU
        made.symbolic = symbolic
        return made.requires_grad_(requires_grad)
    return tuple(revived(each, mode) for each in value) if isinstance(value, tuple) else value
