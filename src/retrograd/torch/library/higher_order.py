"""`torch.ops.higher_order`: operators that take functions, as graphs of programs name them."""

from .._higher_order_ops import associative_scan, cond, map, scan, while_loop

__all__ = ["associative_scan", "cond", "map", "map_impl", "scan", "while_loop"]

map_impl = map
