"""Processes that share tensors: Python's `multiprocessing`, whose messages hand shared memory over.

NOTE [Tensors between processes]
1. All names are those of Python's module, and its queues, pipes and pools carry tensors as they
   are: whatever pickles for another process asks `reductions`.
2. A tensor that is shared (`share_memory_`, `Module.share_memory`) is the same memory there. Any
   other is copied, but for arguments of a process that is started afresh: those become shared, as
   in PyTorch, for the caller waits meanwhile.
3. Processes may write the same tensor at once, as Hogwild does; nothing orders their writes.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import *
from typing import TYPE_CHECKING

from . import reductions
from .spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

if TYPE_CHECKING:
    from collections.abc import Set

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]
__all__ += multiprocessing.__all__


def get_all_sharing_strategies() -> Set[str]:
    """How memory can be handed over: by descriptors of memory without a name.

    >>> rg.multiprocessing.get_all_sharing_strategies()
    {'file_descriptor'}
    """
    return {"file_descriptor"}


def get_sharing_strategy() -> str:
    """How memory is handed over.

    >>> rg.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how memory is handed over; changes nothing, for there is one way.

    Raises ValueError for what is no strategy of PyTorch's.
    """
    if new_strategy not in ("file_descriptor", "file_system"):
        raise ValueError(
            f"set_sharing_strategy(): {new_strategy!r} is none of 'file_descriptor', 'file_system'"
        )


reductions.init_reductions()
