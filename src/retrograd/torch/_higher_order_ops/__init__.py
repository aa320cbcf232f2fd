"""PyTorch's operators that take functions: branches, loops and scans, run as Python runs them.

PyTorch's compiler sees each as one node. Here every step is recorded as it runs, so all of them
have derivatives of every order.
"""

from .associative_scan import associative_scan
from .cond import cond
from .map import map
from .scan import scan
from .while_loop import while_loop

__all__ = ["associative_scan", "cond", "map", "map_impl", "scan", "while_loop"]

map_impl = map  # as graphs name it
