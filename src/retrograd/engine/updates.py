"""What an update of many tensors at once asks of each of them; it is timed, and in C where that is.

This module knows no rule of an optimizer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import native
from .tensor import Tensor, wrote

__all__ = ["all_plain", "wrote_all"]


@native.in_c
def all_plain(tensors: list[Tensor]) -> bool:
    """Whether the memory of all tensors in a list is plain: contiguous, and may be written."""
    return all(t._array.__class__ is np.ndarray and t._array.flags.carray for t in tensors)


@native.in_c
def wrote_all(params: list[Tensor], state: dict[Tensor, dict[str, Any]], by: str) -> None:
    """Count a write to each tensor that has a gradient, and to the tensors of its own state."""
    for p in params:
        if p._gradient is not None:
            for each in (p, *state.get(p, {}).values()):
                if isinstance(each, Tensor):
                    wrote(each, by)
