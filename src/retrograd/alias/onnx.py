"""`torch.onnx` under the alias: the question whether a model is being exported. Nothing exports."""

from __future__ import annotations

__all__ = ["is_in_onnx_export"]


def is_in_onnx_export() -> bool:
    """Whether a model is being written down for ONNX: never.

    >>> from retrograd.alias.onnx import is_in_onnx_export
    >>> is_in_onnx_export()
    False
    """
    return False
