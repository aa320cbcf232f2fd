"""`torch.onnx`: what programs ask of it. Models are not written in ONNX's format."""

from __future__ import annotations

__all__ = ["is_in_onnx_export"]


def is_in_onnx_export() -> bool:
    """Whether a model is being written in ONNX's format: never.

    >>> rg.onnx.is_in_onnx_export()
    False
    """
    return False
