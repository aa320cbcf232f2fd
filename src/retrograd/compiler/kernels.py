"""Kernels: programs that run on arrays.

A kernel has code for each combination of inputs that are arrays and that are one number for all
elements; each is built when it is first met. Operands in whose memory it finds no rows to run along
are NumPy's: it gives None then.
"""

from __future__ import annotations

import ctypes
import math
import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy._core._multiarray_umath import __cpu_features__

from ..kernels import memory
from ..kernels.native import loops
from .abstract import SHAPE
from .door import Recent, reducing, setting
from .emission import code, unknown
from .machine import address
from .plan import EASY, LIGHT
from .program import anonymous
from .recorder import FLOAT, PASSING, Operand, positional, record
from .rows import Rows, attempted, recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .program import Program

__all__ = ["Kernel", "abstracted", "examined", "kernel"]

LONGEST, MOST = 256, 16  # calls and inputs of a program: LLVM takes long for more
GRAIN, HARD_GRAIN = 1 << 14, 1 << 13  # elements of what a thread takes at once: some 5 us
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
    """An elementwise program, ready to run on a function's operands: NOTE [Kernels] in `kernel.c`.

    `places` are those of the inputs among the operands, `targets` the inputs over which outputs are
    written. Without C, it runs where all operands are rows in one layout.
    """

    def __init__(self, program: Program, places: Sequence[int]) -> None:
        self.program, inputs = program, program.inputs
        self.places = tuple([places[program.calls[value].static[0]] for value in inputs])
        self.targets = tuple([inputs.index(i) if i >= 0 else i for i in program.targets])
        self.dtypes = [*map(program.dtype, inputs)]
        self.made = [*map(program.dtype, program.outputs)]
        self.ufunc = quick_ufunc(program)
        self.times = 1 if self.ufunc is None else 16 if self.ufunc.__name__ in LIGHT else 4
        if any(target >= 0 for target in self.targets):  # `Updates` says which sizes it takes
            self.times = 0
        self.functions: dict[int, Any] = {}

    def code(self, numbers: int) -> int:
        """The address of the code for inputs of which these are numbers; 0 if LLVM fails."""
        try:
            return address(code, anonymous(self.program), numbers)
        except PASSING:
            raise
        except Exception as error:
            warnings.warn(FAILED.format(error=error, program=self.program), RuntimeWarning, 2)
            return 0

    def native(self) -> Any:
        """The kernel as an object of the C extension, which calls it faster."""
        types = tuple([dtype.num for dtype in (*self.dtypes, *self.made)])
        return loops.Kernel(
            build=self.code,
            types=types,
            places=self.places,
            targets=self.targets,
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
            for dtype, target in zip(self.made, self.targets, strict=True)
        ]
        if self.times and outputs[0].size < setting.least:
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
    inputs, first = program.inputs, program.calls[-1]
    dtypes = [program.calls[i].dtype for i in inputs]
    quick = first.function in LIGHT or (
        HAS_VECTORS and len({*dtypes}) == 1 and first.function in VECTORS.get(dtypes[0], ())
    )
    plain = first.operands == tuple(inputs) and program.targets == (-1,) and program.length == 1
    return getattr(np, first.function) if quick and plain else None


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
    alone = positional(function, names)
    if function in reducing:
        return Rows(alone)
    known, weak = abstracted(operands)
    try:
        return kernel_for(alone, weak, writes)
    except PASSING:
        raise
    except Exception:
        return None if weak == known else Baked(alone)


def abstracted(operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Operands as `record` takes them: with numbers that are known, and with none."""
    known = [
        Operand(x.dtype.char, SHAPE if x.ndim else ()) if isinstance(x, np.ndarray) else x
        for x in operands
    ]
    return known, [FLOAT if x.__class__ is float else x for x in known]


def kernel_for(function: Callable[..., Any], operands: Sequence[Any], writes: bool = False) -> Any:
    """The kernel of a function, None if there is no code for it; raises what stops the recorder."""
    program = record(function, operands, writes).program
    if unknown(program) or program.length > LONGEST or len(program.inputs) > MOST:
        return None
    kernel = Kernel(program, [i for i, x in enumerate(operands) if isinstance(x, Operand)])
    if loops is not None:
        return kernel.native()
    return kernel if kernel.ufunc is None else None


def examined(function: Any, names: Sequence[str], operands: Sequence[Any]) -> tuple[str, Any, int]:
    """(why there is no kernel, or ""; the program; the bytes written) of a function."""
    rows, alone = function in reducing, positional(function, names)
    size, why = max([x.size for x in operands if isinstance(x, np.ndarray)]), ""
    for given in [operands] if rows else reversed(abstracted(operands)):
        try:
            program, *_, shapes, _ = (recorded if rows else record)(alone, given)
        except Exception as error:
            why = str(error)
        else:
            what = unknown(program, rows)
            sizes = [size if shape == SHAPE else math.prod(shape) for shape in shapes]
            dtypes = map(program.dtype, program.outputs)
            written = sum(n * dtype.itemsize for n, dtype in zip(sizes, dtypes, strict=True))
            return f"there is no code for {what}" if what else "", program, written
    return why, None, 0


class Baked:
    """The kernels of a function that branches on numbers: NOTE [The door], 3."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.kernels = function, Recent()

    def __call__(self, operands: Sequence[Any]) -> Any:
        """What the kernel for the numbers among the operands gives."""
        numbers = [x for x in operands if x.__class__ is float]
        if not all(map(simple, numbers)):
            return None
        key, (known, _) = tuple(map(repr, numbers)), abstracted(operands)
        kernel = self.kernels.get_or_make(key, attempted, kernel_for, self.function, known)
        return None if kernel is None else kernel(operands)


def simple(number: float) -> bool:
    """Whether a number is a multiple of 1/8, at most 16 in size."""
    return abs(number) <= 16 and (number * 8).is_integer()
