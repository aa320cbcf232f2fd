"""Kernels of functions with reductions: softmax, variances, normalisations.

A kernel is for arrays of given shapes and strides; its code, for any that differ in sizes alone.
"""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels import memory
from ..kernels.native import loops
from .door import Recent, setting
from .emission import unknown
from .machine import address
from .plan import of_columns, totals_and_sums, within_rows
from .program import INNER, REDUCTIONS, Refused, anonymous
from .recorder import PASSING, Operand, flat, record
from .sweeps import LANES, Variant, parts_of, row_code

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .program import Program
    from .recorder import Recording

__all__ = ["Rows", "attempted", "recorded"]

PIECE = 1 << 15  # elements of what a thread takes at once
PIECES = 16  # at most, where there are sums across rows: each piece has sums of its own
TIMES = 4  # how much larger than others arrays must be here, where each call costs more
PLAIN = 16  # and those of which there is but a sum of everything
MOST_LANES = max(LANES.values())
LONGEST = 64  # calls of a program
MOST_LONG = 1 << 13  # elements of a row, where there is a choice
CHUNK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


Dims = list[tuple[int, list[int]]]  # sizes of dimensions, outermost first, and operands' strides


def recorded(function: Callable[..., Any], operands: Sequence[Any]) -> Recording:
    """The recording of a function on arrays of these shapes; whatever stops it, it raises."""

    def known(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return Operand(x.dtype.char, x.shape)
        return tuple(map(known, x)) if isinstance(x, tuple) else x

    arrays = [x for x in flat(operands) if isinstance(x, np.ndarray)]
    largest = max(arrays, key=lambda x: x.size)
    steps = [abs(step) for step, n in zip(largest.strides, largest.shape, strict=True) if n > 1]
    in_rows = bool(steps) and largest.shape[-1] > 1 and steps[-1] == min(steps)
    return record(function, known(tuple(operands)), in_rows=in_rows)


def merged(axes: Sequence[int], shape: Sequence[int], strides: Sequence[Sequence[int]]) -> Dims:
    """Dimensions of more than one element; those along which all operands go on as one, as one."""
    found: Dims = []
    for axis in reversed(axes):
        size, steps = shape[axis], [own[axis] for own in strides]
        if size == 1:
            continue
        if found and all(s == n * found[0][0] for s, n in zip(steps, found[0][1], strict=True)):
            found[0] = (size * found[0][0], found[0][1])
        else:
            found.insert(0, (size, steps))
    return found


def strides_of(array: Any, shape: Sequence[int]) -> list[int]:
    """The bytes from an element to the next along each dimension; 0 where there is but one."""
    view = array.reshape(shape)
    return [0 if n == 1 else step for n, step in zip(view.shape, view.strides, strict=True)]


def in_long_rows(recording: Recording, arrays: Sequence[Any]) -> tuple[Sequence[int], Any]:
    """The sizes of dimensions, and which are inner axes; where only everything is summed, of rows
    that are long and many, so that threads share them."""
    program, shape, dim, *_ = recording
    calls, size = program.calls, math.prod(shape)
    inputs = [(calls[i].static, calls[i].axes) for i in program.inputs]
    plain = not any(call.function in REDUCTIONS and not call.total for call in calls) and all(
        arrays[i].size == 1
        or (
            own == shape
            and axes & INNER
            and (arrays[i].flags.c_contiguous or not any(arrays[i].strides))
        )
        for (i, own), axes in inputs
    )
    lengths = [n for n in range(MOST_LONG, MOST_LANES, -1) if size % n == 0] if plain else []
    return ((size // lengths[0], lengths[0]), (1,)) if lengths else (shape, dim)


def with_factors(program: Program, arrays: Sequence[Any], dims: int) -> tuple[Program, list[Any]]:
    """A program in which numbers that are factors or divisors are inputs; and these, as arrays.

    Most are counts of elements, so the code is for any sizes. They come after the `arrays`.
    """
    calls, factors = [*program.calls], list[Any]()
    rest = {i for c in calls if c.function not in ("multiply", "divide") for i in c.operands}
    for value, call in enumerate(calls):
        if call.function == "constant" and call.dtype in "fd" and value not in rest:
            static = len(arrays) + len(factors), (1,) * dims
            factors.append(np.full(static[1], float(call.static), call.dtype))
            calls[value] = call._replace(function="input", static=static)
    return program._replace(calls=tuple(calls)), factors


class RowKernel:
    """A recording's program for arrays of given shapes and strides."""

    def __init__(self, recording: Recording, arrays: Sequence[Any]) -> None:
        self.recording = recording
        whole, made, *_ = recording
        shape, dim = in_long_rows(recording, arrays)
        program, self.factors = with_factors(within_rows(whole), arrays, len(made))
        arrays = [*arrays, *self.factors]
        calls = program.calls
        if program.length > LONGEST or unknown(program, rows=True):
            raise Refused("there is no code for some of it")
        self.inputs = [
            (i, shape if own == made else own if len(shape) == len(made) else (1,) * len(shape))
            for i, own in [calls[value].static for value in program.inputs]
        ]
        self.parts = [parts_of(calls[value]) for value in program.outputs]
        row = [1 if d in dim else n for d, n in enumerate(shape)]
        totals, across = totals_and_sums(whole)
        results = [
            (made if calls[value].axes & INNER else row, program.dtype(value))
            for value, parts in zip(program.outputs, self.parts, strict=True)
            if not parts
        ]
        self.made = results[: len(results) - len(totals)]
        self.row_sums = results[len(self.made) :]
        strides = [strides_of(arrays[i], own) for i, own in self.inputs]
        strides += [
            strides_of(np.empty(own, dtype), shape if own == made else own)
            for own, dtype in results
        ]
        column = [n if d in dim else 1 for d, n in enumerate(shape)]
        strides += [strides_of(np.empty(column), column) for parts in self.parts if parts]
        kept = merged([d for d in range(len(shape)) if d not in dim], shape, strides)
        inner = merged(dim, shape, strides) or [(1, [0] * len(strides))]
        *outer, (length, steps) = inner
        sizes = [arrays[i].itemsize for i, _ in self.inputs] + [d.itemsize for _, d in results]
        sizes += [8] * len(strides)
        if any(step not in (0, size) for step, size in zip(steps, sizes, strict=False)):
            raise Refused("elements of a row that are apart")
        self.rows = math.prod([n for n, _ in kept])
        self.grain = max(1, PIECE * self.rows // max(1, math.prod(shape)))
        self.columns = math.prod(column)
        self.room = -(-self.columns // MOST_LANES) * MOST_LANES  # of the sums of a piece
        if any(self.parts):
            self.grain = max(self.grain, -(-self.rows // PIECES))
        variant = Variant(len(kept), len(outer), tuple([s != 0 for s in steps[: len(self.inputs)]]))
        dims = [*kept, *outer]
        self.table = np.array([  # rule 1 of NOTE [Rows] in `sweeps`
            *[0] * len(strides), *[n for n, _ in dims], length, self.grain, self.room * 8,
            *[own[i] for i in range(len(strides)) for _, own in dims],
        ])  # fmt: skip
        self.sums = [*map(whole.dtype, [*totals, *across])]
        self.of_columns = of_columns(whole)
        self.address = address(row_code, anonymous(program), variant)
        self.function = CHUNK(self.address)

    def __call__(self, arrays: Sequence[Any]) -> Any:
        """What the function gives for arrays of the same shapes and strides."""
        outputs = [np.empty(shape, dtype) for shape, dtype in (*self.made, *self.row_sums)]
        pieces = -(-self.rows // self.grain)
        sums = [np.empty((pieces, parts, self.room)) for parts in self.parts if parts]
        given = [*arrays, *self.factors]
        held = [*[given[i] for i, _ in self.inputs], *outputs, *sums]
        table = self.table.copy()
        if loops is not None:
            loops.run_rows(self.address, table, held, self.rows, self.grain)
        else:
            table[: len(held)] = [memory.address(array) for array in held]
            for begin in range(0, self.rows, self.grain):
                end = min(begin + self.grain, self.rows)
                self.function(table.ctypes.data, begin, end)
        results = self.results(outputs, sums)
        return results[0] if self.recording.single else results

    def results(self, outputs: Sequence[Any], sums: Sequence[Any]) -> tuple[Any, ...]:
        """What the function gives, of what its kernel has computed."""
        whole, made = self.recording.program, self.recording.made
        totals = [np.asarray(np.add.reduce(each, None)) for each in outputs[len(self.made) :]]
        totals += [np.add.reduce(each, (0, 1))[: self.columns] for each in sums]
        totals = [x.astype(dtype) for x, dtype in zip(totals, self.sums, strict=True)]
        known = self.of_columns(totals)
        rest = iter(outputs)
        found = [known[value] if value in known else next(rest) for value in whole.outputs]
        return tuple([  # of large ones no views, which would be copied for leaves
            np.full(shape, x) if x.size == 1
            else x if x.shape == shape and value not in known else x.reshape(shape)
            for value, x, shape in zip(whole.outputs, found, made, strict=True)
        ])  # fmt: skip


def attempted(make: Callable[..., Any], *args: Any) -> Any:
    """What `make(*args)` makes; None where that raises an error that says something of it."""
    try:
        return make(*args)
    except PASSING:
        raise
    except Exception:
        return None


class Rows:
    """The kernels of a function, by shapes and strides of arrays and by numbers among operands."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.kernels = Recent()

    def __call__(self, operands: Sequence[Any]) -> Any:
        """What the kernel for such operands gives; None where there is none."""
        kernel, arrays = self.kernel_for(operands)
        return None if kernel is None else kernel(arrays)

    def kernel_for(self, operands: Sequence[Any]) -> tuple[RowKernel | None, Sequence[Any]]:
        """The kernel for such operands, None where there is none; the arrays among them."""
        arrays, key = list[Any](), list[Any]()
        for x in flat(operands):
            if x.__class__ is np.ndarray:
                if not (x.flags.aligned and x.dtype.isnative):
                    return None, arrays
                arrays.append(x)
                key += [x.shape, x.strides]
            elif x.__class__ is float:
                key.append(x)
        if max(x.size for x in arrays) < setting.least * TIMES:
            return None, arrays
        return self.kernels.get_or_make(
            tuple(key), attempted, self.new_kernel, operands, arrays
        ), arrays

    def new_kernel(self, operands: Sequence[Any], arrays: Sequence[Any]) -> RowKernel | None:
        """The kernel for operands like these; None where the recorder or the compiler stop."""
        if not all(x.size for x in arrays):
            return None
        recording = recorded(self.function, operands)
        if {recording.shape[d] for d in recording.dim} == {1}:
            return None  # nothing is summed, and NumPy's result lies in memory as its input
        calls, few = recording.program.calls, max(x.size for x in arrays) < PLAIN * setting.least
        if few and any(c.total and calls[c.operands[0]].function == "input" for c in calls):
            return None  # NumPy's sum is as quick
        return RowKernel(recording, arrays)
