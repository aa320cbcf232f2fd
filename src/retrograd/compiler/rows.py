"""Functions with sums and maxima along dimensions as kernels: softmax, variances, normalisations.

What is recorded, and of which shapes, is in `row_recorder`.
"""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels import memory
from ..kernels.native import loops
from .door import Recent, setting
from .machine import address
from .recorder import PASSING, Refused, positional
from .row_emission import row_code
from .row_plan import LANES, Places, Variant, along_rows, known_rows, parts_of
from .row_recorder import Recording, columnwise, flat, record, sums_across

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Rows", "found", "kernel"]

PIECE = 1 << 15  # elements of what a thread takes at once
PIECES = 16  # at most, where there are sums across rows: each piece has sums of its own
TIMES = 4  # how much larger than others arrays must be here, where each call costs more
MOST_LANES = max(LANES.values())
LONGEST = 64  # calls of a program
CHUNK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


Dims = list[tuple[int, list[int]]]  # sizes of dimensions, outermost first, and operands' strides


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


class RowKernel:
    """A recording's program for arrays of given shapes and strides."""

    def __init__(self, recording: Recording, arrays: Sequence[Any]) -> None:
        self.recording = recording
        program, inputs, _, shape, dim, _, _ = recording
        rows = tuple([all(own[d] == 1 for d in dim) for _, own in inputs])
        row = [1 if d in dim else n for d, n in enumerate(shape)]
        self.parts = [parts_of(program, value) for value in program.outputs]
        along = along_rows(program, rows)
        self.made = [
            (row if along[value] else shape, program.dtype(value))
            for value, parts in zip(program.outputs, self.parts, strict=True)
            if not parts
        ]
        strides = [strides_of(arrays[i], own) for i, own in inputs]
        strides += [strides_of(np.empty(own, dtype), own) for own, dtype in self.made]
        column = [n if d in dim else 1 for d, n in enumerate(shape)]
        strides += [strides_of(np.empty(column), column) for parts in self.parts if parts]
        kept = merged([d for d in range(len(shape)) if d not in dim], shape, strides)
        inner = merged(dim, shape, strides) or [(1, [0] * len(strides))]
        *outer, (length, steps) = inner
        sizes = [arrays[i].itemsize for i, _ in inputs] + [d.itemsize for _, d in self.made]
        sizes += [8] * len(strides)
        if any(step not in (0, size) for step, size in zip(steps, sizes, strict=False)):
            raise Refused("elements of a row that are apart")
        self.rows = math.prod([n for n, _ in kept])
        self.grain = max(1, PIECE * self.rows // max(1, math.prod(shape)))
        self.columns = math.prod(column)
        self.room = -(-self.columns // MOST_LANES) * MOST_LANES  # of the sums of a piece
        if any(self.parts):
            self.grain = max(self.grain, -(-self.rows // PIECES))
        variant = Variant(len(kept), len(outer), tuple([s != 0 for s in steps[: len(inputs)]]))
        dims, places = [*kept, *outer], Places(len(strides), variant)
        self.table = np.zeros(places.total, np.int64)
        self.table[len(strides) :] = [
            *[n for n, _ in dims], length, self.grain, self.room * 8,
            *[along[i] for i in range(len(strides)) for _, along in dims],
        ]  # fmt: skip
        self.sums = [recording.whole.dtype(value) for value in sums_across(recording.whole)]
        self.columnwise = columnwise(recording.whole)
        self.address = address(row_code, program, rows, variant)
        self.function = CHUNK(self.address)

    def __call__(self, arrays: Sequence[Any]) -> Any:
        """What the function gives for arrays of the same shapes and strides."""
        recording = self.recording
        outputs = [np.empty(shape, dtype) for shape, dtype in self.made]
        pieces = -(-self.rows // self.grain)
        sums = [np.empty((pieces, parts, self.room)) for parts in self.parts if parts]
        held = [*[arrays[i] for i, _ in recording.inputs], *outputs, *sums]
        table = self.table.copy()
        if loops is not None:
            loops.run_rows(self.address, table, held, self.rows, self.grain)
        else:
            table[: len(held)] = [memory.address(array) for array in held]
            for begin in range(0, self.rows, self.grain):
                end = min(begin + self.grain, self.rows)
                self.function(table.ctypes.data, begin, end)
        results = self.results(outputs, sums)
        return results[0] if recording.single else results

    def results(self, outputs: Sequence[Any], sums: Sequence[Any]) -> tuple[Any, ...]:
        """What the function gives, of what its kernel has computed."""
        whole, made = self.recording.whole, self.recording.made
        totals = [
            np.add.reduce(each, (0, 1))[: self.columns].astype(dtype)
            for each, dtype in zip(sums, self.sums, strict=True)
        ]
        known = self.columnwise(totals) if sums else {}
        rest = iter(outputs)
        found = [known[value] if value in known else next(rest) for value in whole.outputs]
        return tuple([  # of large ones no views, which would be copied for leaves
            x if x.shape == shape and value not in known else x.reshape(shape)
            for value, x, shape in zip(whole.outputs, found, made, strict=True)
        ])  # fmt: skip


class Rows:
    """The kernels of a function, by shapes and strides of arrays and by numbers among operands."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.kernels = Recent()

    def __call__(self, operands: Sequence[Any]) -> Any:
        """What the kernel for such operands gives; None where there is none."""
        arrays, key = [], []
        for x in flat(operands):
            if x.__class__ is np.ndarray:
                if not (x.flags.aligned and x.dtype.isnative):
                    return None
                arrays.append(x)
                key += [x.shape, x.strides]
            elif x.__class__ is float:
                key.append(x)
        if max(x.size for x in arrays) < setting.least * TIMES:
            return None
        kernel = self.kernels.found(tuple(key), self.made, operands, arrays)
        return None if kernel is None else kernel(arrays)

    def made(self, operands: Sequence[Any], arrays: Sequence[Any]) -> RowKernel | None:
        """The kernel for operands like these; None where the recorder or the compiler stop."""
        if not all(x.size for x in arrays):
            return None
        try:
            recording = record(self.function, operands)
            if len(recording.program.calls) > LONGEST or not known_rows(recording.program):
                return None
            sizes = {recording.shape[d] for d in recording.dim}
            if sizes == {1}:  # nothing is summed, and NumPy's result lies in memory as its input
                return None
            return RowKernel(recording, arrays)
        except PASSING:
            raise
        except Exception:
            return None


def found(
    function: Callable[..., Any], names: Sequence[str], operands: Sequence[Any]
) -> tuple[str, Any, int]:
    """Why a function has no kernel for such operands, or ""; its program; the bytes it writes."""
    try:
        recording = record(positional(function, names), operands)
    except Exception as error:
        return str(error), None, 0
    whole = recording.whole
    sizes = [math.prod(shape) for shape in recording.made]
    written = sum(n * whole.dtype(i).itemsize for n, i in zip(sizes, whole.outputs, strict=True))
    return "" if known_rows(whole) else "there is no code for some of it", whole, written


def kernel(function: Callable[..., Any], names: Sequence[str]) -> Rows:
    """The kernels of a function, the last of whose operands have names."""
    return Rows(positional(function, names))
