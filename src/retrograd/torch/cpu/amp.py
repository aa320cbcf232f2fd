"""Mixed precision by its older names for the CPU.

>>> issubclass(rg.cpu.amp.autocast, rg.amp.autocast)
True
"""

from __future__ import annotations

from ..amp.older import older

__all__ = ["GradScaler", "autocast"]

autocast, GradScaler = older("cpu", None, __name__)
