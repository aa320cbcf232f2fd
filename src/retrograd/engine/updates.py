"""What an update of many tensors at once asks of each of them; it is timed, and in C where that is.

This module knows no rule of an optimizer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .tensor import Tensor, wrote

__all__ = ["all_plain", "wrote_all"]


def all_plain(tensors: list[Tensor]) -> bool:
    """Whether the memory of all tensors in a list is plain: contiguous, and may be written."""
    return all(t._array.__class__ is np.ndarray and t._array.flags.carray for t in tensors)


def wrote_all(written: list[Any], by: str) -> None:
    """Count a write to each tensor in a list, and to those in the dictionaries in it."""
    for each in written:
        if isinstance(each, Tensor):
            wrote(each, by)
        elif isinstance(each, dict):
            wrote_all(list(each.values()), by)
