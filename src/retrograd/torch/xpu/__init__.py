"""`torch.xpu` for programs that ask for Intel's GPUs: tensors cannot live on one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tables import absent_device, define

FUNCTIONS = absent_device()
define(globals(), FUNCTIONS)
__all__ = list(FUNCTIONS)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the functions of the table
