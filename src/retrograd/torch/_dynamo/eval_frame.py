"""`torch._dynamo.eval_frame`: the class of compiled modules, of which none is made here."""

from __future__ import annotations

from ...nn.modules.module import Module

__all__ = ["OptimizedModule"]


class OptimizedModule(Module):
    """What PyTorch's `compile` makes of a module; here it gives it back, so no module is one."""
