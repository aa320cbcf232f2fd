"""What PyTorch's `functorch.experimental.control_flow` is: branches and maps."""

from ...._higher_order_ops import cond, map

__all__ = ["cond", "map"]
