"""`torch._dynamo.eval_frame`: the class of compiled modules."""

from __future__ import annotations

from ...capture.modules import OptimizedModule

__all__ = ["OptimizedModule"]
