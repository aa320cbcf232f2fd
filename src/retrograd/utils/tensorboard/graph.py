"""A model's forward as the graph that TensorBoard shows: the op calls, each in its module."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ...engine.tensor import Tensor
from ...engine.transforms.watch import Watcher
from ...locks import load
from ...nn.global_hooks import register_module_forward_hook, register_module_forward_pre_hook

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...engine.op import Op

__all__ = ["graph"]

PROTOS = "tensorboard.compat.proto."


class Calls(Watcher):
    """Notes op calls as nodes; a value that no op made is a parameter, or a constant."""

    def __init__(self, model: Any, inputs: Sequence[Any]) -> None:
        self.scopes = [type(model).__name__]
        self.paths = {module: name for name, module in model.named_modules()}
        self.nodes: list[Any] = []
        self.numbers: Counter[str] = Counter()
        self.known: dict[int, str] = {}
        self.alive: list[Tensor] = []  # lest another tensor gets the id of one that is known
        self.owned = {id(p): name for name, p in model.named_parameters()}
        self.owned |= {id(b): name for name, b in model.named_buffers()}
        for place, given in enumerate(inputs):
            if isinstance(given, Tensor):
                self.node(given, f"input/{place}", "IO Node", [])

    def node(self, made: Tensor, name: str, kind: str, inputs: list[str]) -> str:
        """Note a node that makes a tensor; its name."""
        values = load(f"{PROTOS}attr_value_pb2").AttrValue
        shapes = load(f"{PROTOS}tensor_shape_pb2").TensorShapeProto
        shape = shapes(dim=[shapes.Dim(size=size) for size in made.shape])
        about = {"_output_shapes": values(list=values.ListValue(shape=[shape]))}
        types = load(f"{PROTOS}node_def_pb2").NodeDef
        self.nodes.append(types(name=name, op=kind, input=inputs, attr=about))
        self.known[id(made)] = name
        self.alive.append(made)
        return name

    def unique(self, name: str) -> str:
        """A name that no other node has."""
        name = "/".join([*self.scopes, name])
        self.numbers[name] += 1
        return name if self.numbers[name] == 1 else f"{name}_{self.numbers[name] - 1}"

    def source(self, value: Tensor) -> str:
        """The name of the node that a value comes from."""
        if id(value) in self.known:
            return self.known[id(value)]
        path = self.owned.get(id(value))
        if path is not None:
            name = f"{self.scopes[0]}/{path.replace('.', '/')}"
            return self.node(value, name, "Parameter", [])
        return self.node(value, self.unique("Constant"), "Constant", [])

    def made(self, op: Op, inputs: Any, params: dict[str, Any], outputs: Sequence[Any]) -> None:
        """Note a call: the first output is its node, further ones are nodes that take it."""
        taken = [self.source(each) for each in inputs if isinstance(each, Tensor)]
        first, *rest = outputs
        name = self.node(first, self.unique(op.name.strip("_")), f"retrograd::{op.name}", taken)
        for place, other in enumerate(rest, 1):
            self.node(other, f"{name}/output_{place}", "Output", [name])

    def enter(self, module: Any, args: Any) -> None:
        """Go into a module."""
        path = self.paths.get(module)
        if path != "":
            self.scopes.append((path or type(module).__name__).rpartition(".")[2])

    def leave(self, module: Any, args: Any, output: Any) -> None:
        """Come out of it."""
        if self.paths.get(module) != "":
            self.scopes.pop()


def graph(model: Any, inputs: Any) -> Any:
    """The graph of `model(*inputs)`, or of `model(inputs)` where that is one tensor."""
    given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    calls = Calls(model, given)
    hooks = [
        register_module_forward_pre_hook(calls.enter),
        register_module_forward_hook(calls.leave, always_call=True),
    ]
    try:
        with calls:
            found = model(*given)
    finally:
        for hook in hooks:
            hook.remove()
    for place, output in enumerate(found if isinstance(found, (list, tuple)) else [found]):
        if isinstance(output, Tensor):
            calls.node(output, f"output/{place}", "IO Node", [calls.source(output)])
    versions = load(f"{PROTOS}versions_pb2").VersionDef(producer=22)
    return load(f"{PROTOS}graph_pb2").GraphDef(node=calls.nodes, versions=versions)
