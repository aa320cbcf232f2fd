"""Large arrays: elementwise steps that follow each other become one kernel of `compiler.door`.

What lies between the steps of a run stays in registers, and what nobody reads is not computed. So a
forward whose result is only differentiated is half of the traffic to memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiler import door
from ..kernels.layout import added
from .recording import Formulas, Recording
from .steps import leaves, made_by, slots_of

__all__ = ["Fused", "shape_of"]


class Fused:
    """A kernel that writes new arrays of a shape, and the function that it was made of."""

    def __init__(self, function: Any, given: Any, made: Any) -> None:
        self.function = function
        self.made = [(array.shape, array.dtype) for array in made]
        self.kernel = door.new_kernel(function, (), (*given, *made), True)

    def __call__(self, *given: Any) -> list[Any]:
        """The new arrays."""
        made = [np.empty(shape, dtype) for shape, dtype in self.made]
        if self.kernel((*given, *made)) is None:
            self.function(*given, *made)
        return made


def shape_of(step: Any, recording: Recording) -> tuple[int, ...] | None:
    """The shape of a step's large arrays, if it is elementwise and all have one; or None."""
    arrays = recording.arrays
    function = getattr(step, "function", None)
    if isinstance(function, Formulas):
        known = function.op.elementwise
    else:
        known = function is added or id(step) in recording.elementwise
    if not known or None in leaves(step.made):
        return None
    made, given = [arrays[s] for s in made_by(step)], [arrays[s] for s in slots_of(step)]
    shape = arrays[leaves(step.made)[0]].shape
    parts = [a for a in (*made, *given) if a.shape]
    plain = all(a.shape == shape and a.flags.c_contiguous for a in parts)
    if not plain or arrays[leaves(step.made)[0]].size < door.setting.least:
        return None
    if any(np.may_share_memory(m, g) for m in made for g in given):  # a view
        return None
    return shape
