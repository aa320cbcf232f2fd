"""What inputs and outputs of an exported graph are: PyTorch's `torch.export.graph_signature`."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

__all__ = [
    "ConstantArgument",
    "ExportGraphSignature",
    "InputKind",
    "InputSpec",
    "OutputKind",
    "OutputSpec",
    "TensorArgument",
]


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


@dataclass
class ExportGraphSignature:
    """What each placeholder of an exported graph is, and each of its outputs.

    >>> ep = rg.export.export(rg.nn.Linear(2, 1), (rg.ones(3, 2),))
    >>> ep.graph_signature.parameters, ep.graph_signature.user_inputs
    (('weight', 'bias'), ('input',))
    """

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def _inputs(self, kind: InputKind) -> list[InputSpec]:
        return [spec for spec in self.input_specs if spec.kind is kind]

    def _targets(self, kind: InputKind) -> tuple[Any, ...]:
        return tuple([spec.target for spec in self._inputs(kind)])

    def _named(self, specs: list[Any], kind: Any) -> dict[str, Any]:
        return {spec.arg.name: spec.target for spec in specs if spec.kind is kind}

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of parameters in the module."""
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of buffers in the module."""
        return self._targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        """The names of buffers that the state does not have."""
        return tuple([str(s.target) for s in self._inputs(InputKind.BUFFER) if not s.persistent])

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The names of other tensors that the module's function uses."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The names of nodes for arguments, in order; the value of one that is no tensor."""
        args = [spec.arg for spec in self._inputs(InputKind.USER_INPUT)]
        return tuple([a.name if isinstance(a, TensorArgument) else a.value for a in args])

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The names of nodes that are returned, in order; the value of one that is no tensor."""
        args = [spec.arg for spec in self.output_specs if spec.kind is OutputKind.USER_OUTPUT]
        return tuple([a.name if isinstance(a, TensorArgument) else a.value for a in args])

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """The names of parameters by those of placeholders."""
        return self._named(self.input_specs, InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """The names of buffers by those of placeholders."""
        return self._named(self.input_specs, InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, str]:
        """The names of other tensors by those of placeholders."""
        return self._named(self.input_specs, InputKind.CONSTANT_TENSOR)

    @property
    def buffers_to_mutate(self) -> dict[str, str]:
        """The names of buffers by those of nodes that give their new values."""
        return self._named(self.output_specs, OutputKind.BUFFER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> dict[str, str]:
        """The names of placeholders by those of nodes that give their new values."""
        return self._named(self.output_specs, OutputKind.USER_INPUT_MUTATION)

    def __str__(self) -> str:
        inputs, outputs = ("\n".join(map(str, s)) for s in (self.input_specs, self.output_specs))
        return f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"
