"""The errors of `onnx.export`."""

from __future__ import annotations

__all__ = ["OnnxExporterError", "UnsupportedOperatorError"]


class OnnxExporterError(RuntimeError):
    """A program that cannot be exported, and why."""


class UnsupportedOperatorError(OnnxExporterError):
    """An op that ONNX lacks, or that has no row in the tables here."""
