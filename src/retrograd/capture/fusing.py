"""Large arrays: elementwise steps that follow each other become one kernel of `compiler.door`.

What lies between the steps of a run stays in registers, and what nobody reads is not computed. So a
forward whose result is only differentiated is half of the traffic to memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiler import door
from ..compiler.kernels import abstracted, made
from ..compiler.plan import EASY
from ..compiler.recorder import PASSING, record
from ..kernels.layout import added
from .recording import Formulas, Recording, by_elements
from .steps import leaves, made_by, slots_of

__all__ = ["Fused", "is_elementwise", "shape_of"]


# Functions that are quick where all arguments meet a condition, which a first loop finds out.
ON_CONDITION = {"sin", "cos", "tan", "log", "log2", "log10"}


class Fused:
    """A kernel that writes new arrays of a shape, and the function that it was made of."""

    def __init__(self, function: Any, given: Any, results: Any) -> None:
        self.function = function
        self.results = [(array.shape, array.dtype) for array in results]
        self.kernel = kernel(function, (*given, *results))

    def __call__(self, *given: Any) -> list[Any]:
        """The new arrays."""
        results = [np.empty(shape, dtype) for shape, dtype in self.results]
        if self.kernel((*given, *results)) is None:
            self.function(*given, *results)
        return results


def kernel(function: Any, operands: Any) -> Any:
    """The kernel of a function that writes its last operands; None where there is no good one."""
    _, known = abstracted(operands)
    try:
        return made(function, known, True) if suits(record(function, known, True).program) else None
    except PASSING:
        raise
    except Exception:  # there is no program that says what it does
        return None


def suits(program: Any) -> bool:
    """Whether no condition depends on what is dear, which would be computed twice to find out."""
    dear: list[bool] = []
    for call in program.calls:
        below = any(dear[i] for i in call.operands)
        hard = call.function not in EASY
        if below and hard and (call.function in ON_CONDITION or call.dtype in "FD"):
            return False
        dear.append(below or hard)
    return True


def is_elementwise(step: Any, recording: Recording) -> bool:
    """Whether a step gives new arrays, element by element, and does nothing else.

    Functions of integers may also raise errors, as a division by zero does.
    """
    function = getattr(step, "function", None)
    if any(recording.arrays[s].dtype.kind in "iu" for s in made_by(step)):
        return False
    if isinstance(function, Formulas):
        return by_elements(function.op)
    return function is added or id(step) in recording.elementwise


def shape_of(step: Any, recording: Recording) -> tuple[int, ...] | None:
    """The shape of a step's large arrays, if it is elementwise and all have one; or None."""
    arrays = recording.arrays
    gives = [s for s in leaves(getattr(step, "made", None)) if s is not None]
    if not gives or not is_elementwise(step, recording):
        return None
    results, given = [arrays[s] for s in made_by(step)], [arrays[s] for s in slots_of(step)]
    shape: tuple[int, ...] = arrays[gives[0]].shape
    parts = [a for a in (*results, *given) if a.shape]
    plain = all(a.shape == shape and a.flags.c_contiguous for a in parts)
    if not plain or arrays[gives[0]].size < door.setting.least:
        return None
    if any(np.may_share_memory(m, g) for m in results for g in given):  # a view
        return None
    return shape
