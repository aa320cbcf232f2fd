"""`torch.ops.profiler`: the two operators between which a named block of a profile lies."""

from __future__ import annotations

from typing import Any

from ..autograd.profiler import record_function
from ..overrides import handle_torch_function, has_torch_function

__all__: list[str] = []


def _record_function_enter(name: str, args: str | None = None) -> Any:
    """Begin a block called `name`; what it returns ends it."""
    return record_function(name, args).__enter__()


def _record_function_exit(handle: Any) -> Any:
    """End the block of a handle, which may be an `fx` proxy of one: then it is recorded."""
    if has_torch_function((handle,)):
        return handle_torch_function(_record_function_exit, (handle,), handle)
    return handle.__exit__(None, None, None)
