"""`torch._dynamo.eval_frame`: the class of compiled modules, of which none is made here."""

from __future__ import annotations

from ...nn.modules.module import Module

__all__ = ["OptimizedModule"]


class OptimizedModule(Module):
    """The class of modules that PyTorch has compiled; `compile` makes none here."""
