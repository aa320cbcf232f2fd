"""The roles of an exported graph's inputs and outputs: `torch.export.graph_signature`."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

__all__ = [
    "ConstantArgument", "ExportGraphSignature", "InputKind", "InputSpec", "OutputKind",
    "OutputSpec", "TensorArgument",
]  # fmt: skip


@dataclass
class TensorArgument:
    """An input or output that is a tensor, by its node's name."""

    name: str


@dataclass
class ConstantArgument:
    """An input or output that is any other value."""

    name: str
    value: Any


class InputKind(enum.Enum):
    """Where an input of the graph comes from."""

    USER_INPUT = 1
    PARAMETER = 2
    BUFFER = 3
    CONSTANT_TENSOR = 4


class OutputKind(enum.Enum):
    """Where an output of the graph goes."""

    USER_OUTPUT = 1
    BUFFER_MUTATION = 3
    USER_INPUT_MUTATION = 7


@dataclass
class InputSpec:
    """An input: its kind, argument, what it is in the module, and whether a buffer is saved."""

    kind: InputKind
    arg: Any
    target: str | None
    persistent: bool | None = None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target={self.target!r}"
        persistent = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{persistent}"


@dataclass
class OutputSpec:
    """An output: its kind, argument, and what it is the new value of."""

    kind: OutputKind
    arg: Any
    target: str | None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target={self.target!r}"
        return f"{self.arg.name}: {self.kind.name}{target}"


def targets(kind: InputKind, doc: str) -> Any:
    """A property: the names in the module of the inputs of a kind, in order."""
    return property(
        lambda self: tuple([s.target for s in self.input_specs if s.kind is kind]), doc=doc
    )


def values(specs: str, kind: Any, doc: str) -> Any:
    """The names of nodes of a kind, in order; the value of one that is no tensor."""

    def read(self: ExportGraphSignature) -> tuple[Any, ...]:
        args = [spec.arg for spec in getattr(self, specs) if spec.kind is kind]
        return tuple([a.name if isinstance(a, TensorArgument) else a.value for a in args])

    return property(read, doc=doc)


def by_name(specs: str, kind: Any, doc: str) -> Any:
    """A property: names in the module of inputs or outputs of a kind, by their nodes' names."""
    return property(
        lambda self: {s.arg.name: s.target for s in getattr(self, specs) if s.kind is kind},
        doc=doc,
    )


@dataclass
class ExportGraphSignature:
    """The role of each placeholder of an exported graph, and of each of its outputs.

    >>> ep = rg.export.export(rg.nn.Linear(2, 1), (rg.ones(3, 2),))
    >>> ep.graph_signature.parameters, ep.graph_signature.user_inputs
    (('weight', 'bias'), ('input',))
    """

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    parameters = targets(InputKind.PARAMETER, "The names of parameters in the module.")
    buffers = targets(InputKind.BUFFER, "The names of buffers in the module.")
    lifted_tensor_constants = targets(
        InputKind.CONSTANT_TENSOR, "The names of other tensors that the module's function uses."
    )
    user_inputs = values("input_specs", InputKind.USER_INPUT, "What stands for arguments.")
    user_outputs = values("output_specs", OutputKind.USER_OUTPUT, "What is returned.")
    inputs_to_parameters = by_name(
        "input_specs", InputKind.PARAMETER, "The names of parameters by those of placeholders."
    )
    inputs_to_buffers = by_name(
        "input_specs", InputKind.BUFFER, "The names of buffers by those of placeholders."
    )
    inputs_to_lifted_tensor_constants = by_name(
        "input_specs", InputKind.CONSTANT_TENSOR, "Those of other tensors by those of placeholders."
    )
    buffers_to_mutate = by_name(
        "output_specs", OutputKind.BUFFER_MUTATION, "Buffers by the nodes of their new values."
    )
    user_inputs_to_mutate = by_name(
        "output_specs", OutputKind.USER_INPUT_MUTATION, "Placeholders by those of new values."
    )

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        """The names of buffers that the state does not have."""
        specs = [spec for spec in self.input_specs if spec.kind is InputKind.BUFFER]
        return tuple([str(spec.target) for spec in specs if not spec.persistent])

    def __str__(self) -> str:
        inputs, outputs = ("\n".join(map(str, s)) for s in (self.input_specs, self.output_specs))
        return f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"
