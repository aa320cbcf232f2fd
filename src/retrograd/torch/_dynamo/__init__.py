"""Names of PyTorch's private module `torch._dynamo`, which captures functions, for programs.

What would steer a capture does nothing, and `config` keeps what is set; `graphs` makes the graphs
that a backend of the user's gets.
"""

from __future__ import annotations

from typing import Any

from ..compiler import allow_in_graph, assume_constant_result, disable, is_compiling, reset
from . import config
from .eval_frame import OptimizedModule

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable",
    "graph_break", "is_compiling", "mark_dynamic", "mark_static", "mark_static_address",
    "maybe_mark_dynamic", "reset",
]  # fmt: skip


def graph_break(*args: Any, **settings: Any) -> None:
    """Nothing: no graph is captured, all sizes may change, and memory may lie elsewhere."""


mark_dynamic = mark_static = mark_static_address = maybe_mark_dynamic = graph_break
