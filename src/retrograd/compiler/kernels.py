"""Kernels: programs that run on arrays.

A kernel has code for each combination of inputs that are arrays and that are one number for all
elements; each is built when it is first met. Operands in whose memory it finds no rows to run along
are NumPy's: it gives None then.
"""

from __future__ import annotations

import ctypes
import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy._core._multiarray_umath import __cpu_features__

from ..kernels import memory
from ..kernels.native import loops
from .door import Recent, setting
from .emission import code, unknown
from .machine import address
from .recorder import FLOAT, PASSING, Operand, positional, record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .program import Program
    from .recorder import Recording

__all__ = ["Kernel", "abstracted", "found", "kernel"]

LONGEST, MOST = 256, 16  # calls and inputs of a program: LLVM takes long for more
GRAIN, HARD_GRAIN = 1 << 14, 1 << 13  # elements of what a thread takes at once: some 5 us
LIGHT = {
    *(
        "add",
        "subtract",
        "multiply",
        "divide",
        "negative",
        "absolute",
        "sqrt",
        "square",
        "reciprocal",
    ),
    *("maximum", "minimum", "conjugate", "rint", "floor", "ceil", "trunc", "equal", "not_equal"),
    *("less", "less_equal", "greater", "greater_equal", "logical_not", "logical_and", "logical_or"),
    *("isnan", "isfinite", "isinf", "sign", "copysign"),
}
EASY = LIGHT | {"constant", "cast", "select", "real", "imag", "complex"}
VECTORS = {  # of dtypes, where NumPy has Intel's vector mathematics, and it is the quicker one
    "f": {
        *("exp2", "log2", "log10", "log1p", "tan", "arcsin", "arccos", "arctan2", "sinh"),
        *("tanh", "arcsinh", "arccosh", "arctanh", "power", "cbrt"),
    },
    "d": {
        *("exp2", "log", "log2", "log10", "log1p", "arcsin", "arccos", "arctan2", "sinh", "cosh"),
        *("arcsinh", "arccosh", "arctanh", "power", "cbrt"),
    },
}
HAS_VECTORS = sys.platform == "linux" and __cpu_features__.get("AVX512_SKX", False)
FAILED = (
    "A kernel could not be built: {error}. NumPy computes instead; to have no kernels, set "
    "RETROGRAD_COMPILE=0. Please report this program:\n{program}"
)
POINTER = ctypes.c_void_p
FUNCTION = ctypes.CFUNCTYPE(None, ctypes.POINTER(POINTER), ctypes.c_int64)


class Kernel:
    """A recording's program, ready to run on a function's operands: NOTE [Kernels] in `kernel.c`.

    Without C, it runs where all operands are rows in one layout.
    """

    def __init__(self, recording: Recording) -> None:
        self.program, self.places = recording
        self.dtypes = [*map(np.dtype, self.program.inputs)]
        self.made = [self.program.dtype(value) for value in self.program.outputs]
        self.ufunc = quick_ufunc(self.program)
        first = self.program.calls[0].function
        self.times = 1 if self.ufunc is None else 16 if first in LIGHT else 4
        self.functions: dict[int, Any] = {}

    def code(self, numbers: int) -> int:
        """The address of the code for inputs of which these are numbers; 0 if LLVM fails."""
        try:
            return address(code, self.program, numbers)
        except PASSING:
            raise
        except Exception as error:
            warnings.warn(FAILED.format(error=error, program=self.program), RuntimeWarning, 2)
            return 0

    def native(self) -> Any:
        """The kernel in C."""
        types = tuple([dtype.num for dtype in (*self.dtypes, *self.made)])
        return loops.Kernel(
            build=self.code,
            types=types,
            places=self.places,
            targets=self.program.targets,
            times=self.times,
            grain=GRAIN if {call.function for call in self.program.calls} <= EASY else HARD_GRAIN,
            ufunc=self.ufunc,
        )

    def __call__(self, operands: Sequence[Any]) -> Any:
        """The output; None where the operands' memory is not in rows."""
        arrays = [np.asarray(operands[place]) for place in self.places]
        shape = max([array.shape for array in arrays], key=len)
        numbers = 0
        for i, (array, dtype) in enumerate(zip(arrays, self.dtypes, strict=True)):
            flags = array.flags
            if array.dtype != dtype or not (flags.c_contiguous and flags.aligned):
                return None
            if array.size == 1 and array.shape != shape:
                numbers |= 1 << i
            elif array.shape != shape:
                return None
        outputs = [
            np.empty(shape, dtype) if target < 0 else arrays[target]
            for dtype, target in zip(self.made, self.program.targets, strict=True)
        ]
        if outputs[0].size < setting.least:
            return None
        if numbers not in self.functions:
            code = self.code(numbers)
            if not code:
                return None
            self.functions[numbers] = FUNCTION(code)
        pointers = [memory.address(array) for array in (*arrays, *outputs)]
        self.functions[numbers]((POINTER * len(pointers))(*pointers), outputs[0].size)
        return outputs[0]


def quick_ufunc(program: Program) -> Any:
    """The ufunc that a program is, if NumPy's loop for it is as quick as one of ours; or None."""
    (first, *more), inputs = program.calls, program.inputs
    quick = first.function in LIGHT or (
        HAS_VECTORS and first.function in VECTORS.get(inputs[0], ()) and len({*inputs}) == 1
    )
    plain = first.operands == tuple(range(len(inputs))) and program.targets == (-1,)
    return None if more or not quick or not plain else getattr(np, first.function)


def kernel(
    function: Callable[..., Any],
    names: Sequence[str],
    operands: Sequence[Any],
    writes: bool = False,
) -> Any:
    """The kernel of a function for such operands, the last of which have names, if it has one.

    Of a function that `writes`, the kernel writes its operands, too. Nothing is raised: whatever is
    wrong with a call, the function itself will say.
    """
    function, known, weak = abstracted(function, names, operands)
    try:
        recording = record(function, weak, writes)
    except PASSING:
        raise
    except Exception:
        return None if weak == known else Baked(function, known)
    return made(recording)


def abstracted(
    function: Callable[..., Any], names: Sequence[str], operands: Sequence[Any]
) -> tuple[Callable[..., Any], list[Any], list[Any]]:
    """A function of operands alone; and these as `record` takes them, with numbers and without."""
    known = [
        Operand(x.dtype.char, x.ndim > 0) if isinstance(x, np.ndarray) else x for x in operands
    ]
    return positional(function, names), known, [FLOAT if x.__class__ is float else x for x in known]


def made(recording: Recording) -> Any:
    """The kernel of a recording, None if there is no code for it."""
    program = recording.program
    if unknown(program) or len(program.calls) > LONGEST or len(program.inputs) > MOST:
        return None
    kernel = Kernel(recording)
    if loops is not None:
        return kernel.native()
    return kernel if kernel.ufunc is None else None


def found(function: Any, names: Sequence[str], operands: Sequence[Any]) -> tuple[str, Any, int]:
    """Why a function has no kernel for such operands, or ""; its program; the bytes it writes."""
    function, known, weak = abstracted(function, names, operands)
    size = max([x.size for x in operands if isinstance(x, np.ndarray)])
    why = ""
    for given in (weak, known):
        try:
            program = record(function, given).program
        except Exception as error:
            why = str(error)
        else:
            what = unknown(program)
            written = size * sum(program.dtype(value).itemsize for value in program.outputs)
            return f"there is no code for {what}" if what else "", program, written
    return why, None, 0


class Baked:
    """The kernels of a function that branches on numbers: NOTE [The door], 3."""

    def __init__(self, function: Callable[..., Any], operands: Sequence[Any]) -> None:
        self.function, self.operands = function, operands
        self.numbers = [i for i, x in enumerate(operands) if x.__class__ is float]
        self.kernels = Recent()

    def __call__(self, operands: Sequence[Any]) -> Any:
        """What the kernel for the numbers among the operands gives."""
        numbers = tuple([operands[i] for i in self.numbers])
        if not all(map(simple, numbers)):
            return None
        kernel = self.kernels.found(tuple(map(repr, numbers)), self.made, numbers)
        return None if kernel is None else kernel(operands)

    def made(self, numbers: Sequence[float]) -> Any:
        """The kernel for these numbers."""
        operands = [*self.operands]
        for i, number in zip(self.numbers, numbers, strict=True):
            operands[i] = number
        try:
            return made(record(self.function, operands))
        except PASSING:
            raise
        except Exception:
            return None


def simple(number: float) -> bool:
    """Whether a number is one of few."""
    return abs(number) <= 16 and (number * 8).is_integer()
