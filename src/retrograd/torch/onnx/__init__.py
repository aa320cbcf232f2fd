"""Models as files that ONNX's runtimes run: PyTorch's `torch.onnx`, through the package `onnx`.

A model runs on example inputs, and the ops that it calls are written down: `tracing` says how what
depends on the inputs is told from what does not. `graph` makes ONNX's nodes of them, by tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...locks import load
from . import errors, operators, symbolic_helper
from .errors import OnnxExporterError
from .tracing import is_in_onnx_export

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .program import ONNXProgram

__all__ = [
    "OnnxExporterError", "errors", "export", "is_in_onnx_export", "register_custom_op_symbolic",
]  # fmt: skip


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int
) -> None:
    """Tell PyTorch's older exporter, by scripts, how to write an operator: it is not here.

    `export` raises errors.UnsupportedOperatorError for an operator of a program's own.
    """


def export(
    model: Callable[..., Any],
    args: Any = (),
    f: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    export_params: bool = True,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    dynamic_axes: Mapping[str, Any] | None = None,
    do_constant_folding: bool = True,
) -> ONNXProgram:
    """Export a model, as it computes on tensors like those in `args` and `kwargs`; write it to `f`.

    Usage::

        rg.onnx.export(net.eval(), (x,), "net.onnx", dynamic_axes={"input_0": {0: "batch"}})

    model: a module, called in the mode that it is in, or a function of tensors. args: a tensor, or
    a tuple of arguments; each tensor within becomes an input of the graph, each tensor of the
    result an output. `input_names` and `output_names` are theirs; by default `input_0`, `output_0`.
    dynamic_axes: of an input's name, the dimensions whose size may vary, a list or a dictionary of
    names for them. opset_version: 18 (the default) or newer. What else PyTorch takes makes no
    difference. The result has the message (`model_proto`) and `save(path)`.

    Raises ImportError without the package `onnx`, ValueError for an older opset or an unknown name,
    errors.UnsupportedOperatorError for an op that has no counterpart, and OnnxExporterError where
    the model takes another way on other inputs, or computes past the ops. Gradients are left out.
    """
    try:
        program = load(".program", __package__)
    except ModuleNotFoundError as error:
        if error.name != "onnx":
            raise
        raise ModuleNotFoundError(
            "retrograd.onnx.export needs the package onnx: pip install onnx", name="onnx"
        ) from error
    made: ONNXProgram = program.exported(
        model, args, kwargs or {}, input_names or (), output_names or (), opset_version or 18,
        dynamic_axes or {},
    )  # fmt: skip
    if f is not None:
        made.save(f)
    return made
