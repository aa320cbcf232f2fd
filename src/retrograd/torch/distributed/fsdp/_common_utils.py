"""`torch.distributed._composable_state` and `torch.distributed.fsdp._common_utils`: two names."""

from typing import Any

from .unit import Unit as _FSDPState  # noqa: F401 (PyTorch's name)

__all__: list[str] = []


def _get_module_state(module: Any) -> Any:
    """What `fully_shard` keeps of a module whose parameters it has cut; None for other modules."""
    return getattr(module, "_unit", None)
