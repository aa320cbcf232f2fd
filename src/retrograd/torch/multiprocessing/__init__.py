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
    "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException",
    "SpawnContext", "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy",
    "spawn", "start_processes",
]  # fmt: skip
__all__ += multiprocessing.__all__


def get_all_sharing_strategies() -> Set[str]:
    """How memory can be handed over, by PyTorch's names.

    >>> sorted(rg.multiprocessing.get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """How memory is to be handed over, as `set_sharing_strategy` said last.

    >>> rg.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how memory is handed over; changes nothing, for there is one way: by descriptors.

    Raises ValueError for what is no strategy of PyTorch's.
    """
    global _strategy
    if new_strategy not in get_all_sharing_strategies():
        raise ValueError(
            f"set_sharing_strategy(): {new_strategy!r} is none of 'file_descriptor', 'file_system'"
        )
    _strategy = new_strategy


_strategy = "file_descriptor"


reductions.init_reductions()
