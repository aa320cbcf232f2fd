"""What programs use of PyTorch's private module `torch._dynamo`, which captures functions.

Nothing is captured here: what would steer that does nothing, and `config` keeps what is set.
"""

from __future__ import annotations

from typing import Any

from ..compiler import allow_in_graph, assume_constant_result, disable, is_compiling, reset
from . import config
from .eval_frame import OptimizedModule

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "graph_break",
    "is_compiling",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "reset",
]


def graph_break(msg: str = "") -> None:
    """Say that a captured graph ends here: there is none."""


def mark_dynamic(t: Any, index: Any, **bounds: Any) -> None:
    """Say that a size may change between calls: all may."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Say that a size may change between calls: all may."""


def mark_static(t: Any, index: Any = None) -> None:
    """Say that a size stays as it is: to nobody."""


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Say that a tensor's memory stays where it is: to nobody."""
