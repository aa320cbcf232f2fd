"""Large arrays: steps that follow each other become one kernel of `compiler`.

They are elementwise, or have sums and maxima along dimensions, too. What lies between the steps of
a run stays in registers, or in the cache, and what nobody reads is not computed. So a forward whose
result is only differentiated is half of the traffic to memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiler import door
from ...compiler.kernels import abstracted, kernel_for
from ...compiler.plan import EASY, plan, within_rows
from ...compiler.recorder import PASSING, record
from ...compiler.rows import Rows
from ...kernels.layout import added
from ..recording import Formulas, Recording, by_elements
from ..steps import leaves

__all__ = ["Fused", "FusedRows", "is_elementwise", "is_in_rows", "is_repeated", "shape_of"]


# Functions that are quick where all arguments meet a condition, which a first loop finds out.
ON_CONDITION = {"sin", "cos", "tan", "log", "log2", "log10"}


class Fused:
    """A kernel that writes new arrays of a shape, and the function that it was made of."""

    def __init__(self, function: Any, given: Any, results: Any) -> None:
        self.function = function
        self.results = [(array.shape, array.dtype) for array in results]
        self.kernel = kernel(function, (*map(number, given), *results))

    def __call__(self, *given: Any) -> list[Any]:
        """The new arrays."""
        results = [np.empty(shape, dtype) for shape, dtype in self.results]
        operands = (*map(number, given), *results)
        if self.kernel(operands) is None:
            self.function(*operands)
        return results


class FusedRows:
    """A kernel of rows that gives new arrays, and the function that it was made of."""

    def __init__(self, function: Any, given: Any) -> None:
        self.function, self.rows = function, Rows(function)
        kernel, _ = self.rows.kernel_for(tuple(given))
        self.kernel = kernel if kernel and suits_rows(kernel.recording.program) else None

    def __call__(self, *given: Any) -> Any:
        """The new arrays."""
        found = self.rows(given)
        return [*map(np.asarray, self.function(*given))] if found is None else found


def number(array: Any) -> Any:
    """An array, or the one number that it repeats."""
    return array[(0,) * array.ndim + (...,)] if is_repeated(array) else array


def is_repeated(array: Any) -> bool:
    """Whether an array is one number, repeated without copies."""
    return array.ndim > 0 and not any(array.strides)


def kernel(function: Any, operands: Any) -> Any:
    """The kernel of a function that writes its last operands; None where there is no good one."""
    _, known = abstracted(operands)
    try:
        return (
            kernel_for(function, known, True)
            if suits(record(function, known, True).program)
            else None
        )
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


def suits_rows(program: Any) -> bool:
    """Whether what is dear is computed once only: not in each of several sweeps over a row."""
    within = within_rows(program)
    found = plan(within)
    dear: list[int] = []
    for sweep in (*found.sweeps, found.across, found.last):
        dear += [i for i in sweep.values if within.calls[i].function not in EASY]
        dear = [i for i in dear if i not in [stored for stored, _ in sweep.stored]]
    return suits(program) and len(dear) == len({*dear})


def is_elementwise(step: Any, recording: Recording) -> bool:
    """Whether a step gives new arrays, element by element, and does nothing else.

    Functions of integers may also raise errors, as a division by zero does.
    """
    function = getattr(step, "function", None)
    if any(recording.arrays[s].dtype.kind in "iu" for s in step.gives):
        return False
    if isinstance(function, Formulas):
        return by_elements(function.op)
    return function is added or step in recording.elementwise


def is_in_rows(step: Any, recording: Recording) -> bool:
    """Whether a step gives new arrays, with sums and maxima along dimensions."""
    function = getattr(step, "function", None)
    if isinstance(function, Formulas):
        return bool(function.op.rows)
    return function is np.zeros_like or step in recording.in_rows


def shape_of(step: Any, recording: Recording) -> tuple[int, ...] | None:
    """The shape of a step's large arrays, if all have one and it may become part of a kernel."""
    arrays = recording.arrays
    gives = [s for s in leaves(getattr(step, "made", None)) if s is not None]
    in_rows = is_in_rows(step, recording)
    if not gives or not (in_rows or is_elementwise(step, recording)):
        return None
    results, given = [arrays[s] for s in step.gives], [arrays[s] for s in step.reads]
    largest = max([*results, *given], key=lambda array: array.size)
    shape: tuple[int, ...] = largest.shape
    parts = [a for a in (*results, *given) if a.shape and not (in_rows and a.size < largest.size)]
    plain = all(a.shape == shape and (a.flags.c_contiguous or is_repeated(a)) for a in parts)
    if not plain or largest.size < door.setting.least:
        return None
    if any(np.may_share_memory(m, g) for m in results for g in given):  # a view
        return None
    return shape
