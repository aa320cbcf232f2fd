"""PyTorch's `torch.export`: a module's call as a graph of operators, with all that it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import UserError
from ...nn.modules.module import Module
from .dynamic_shapes import Dim, ShapesCollection, dims
from .exported_program import CallSpec, ExportedProgram, default_decompositions
from .files import load, save
from .graph_signature import ExportGraphSignature, InputKind
from ..utils._nodes import register_dataclass
from .symbols import traced

__all__ = [
    "Dim", "ExportGraphSignature", "ExportedProgram", "ShapesCollection", "default_decompositions",
    "dims", "export", "load", "register_dataclass", "save",
]  # fmt: skip


def export(
    mod: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """The operators that a module calls for arguments like these, as a program of its own.

    The module runs on tensors without data, so nothing is computed or written. A way that depends
    on values raises UserError; write `torch.cond` or `torch.where`. Sizes are those of `args` and
    `kwargs`, which calls are held to, but for those of which `dynamic_shapes` says otherwise: by
    name of the argument, or in order, and by dimension, a `Dim`, `Dim.AUTO` or `Dim.DYNAMIC`. For
    these the module is traced at two sizes, and UserError is raised where it makes a constant of
    one. The last three arguments are accepted, without effect. Raises ValueError for what is no
    module. Source: PyTorch's function.

    >>> class Gate(rg.nn.Module):
    ...     def forward(self, x):
    ...         return rg.cond(x.sum() > 0, lambda x: x.sin(), lambda x: -x, (x,))
    >>> program = rg.export.export(Gate(), (rg.ones(2),))
    >>> program.module()(rg.tensor([-3.0, 1.0]))
    tensor([ 3., -1.])
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise UserError(
            f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}"
        )
    kwargs = kwargs or {}
    found, symbols = traced(mod, args, kwargs, dynamic_shapes)
    state = mod.state_dict(keep_vars=True)
    constants = dict(found.tracer.constants)
    buffers = dict(mod.named_buffers(remove_duplicate=False))
    parameters = dict(mod.named_parameters(remove_duplicate=False))
    saved = {name: state[name] for name in (*parameters, *buffers) if name in state}
    for spec in found.tracer.inputs:
        if spec.kind is InputKind.BUFFER:
            spec.persistent = spec.target in saved
            if not spec.persistent:
                constants[str(spec.target)] = buffers[str(spec.target)]
    return ExportedProgram(
        found.graph_module,
        ExportGraphSignature(found.tracer.inputs, found.outputs),
        saved,
        constants,
        CallSpec(found.in_spec, found.out_spec),
        symbols,
        (args, kwargs),
    )
