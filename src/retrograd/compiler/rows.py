"""Functions with sums and maxima along dimensions as kernels: softmax, variances, normalisations.

The recorder's arrays have shapes here, for what is reduced, and what is broadcast, depends on them.
A recording is for given shapes; the code of its program is for any sizes that are no numbers in it.

NOTE [Shapes of rows]
1. The largest operand has all dimensions. Those that are reduced make a row, the others say which.
   An array is as large as the largest, or is broadcast to it, or has a number for each row.
2. An operand of fewer dimensions is what broadcasting makes of it beside one that has all. Beside
   others of fewer, and where `expand_dims` says so, it has a number for each row.
3. Whatever does not fit, in its shape or in how it lies in memory, is NumPy's.
"""

from __future__ import annotations

import ctypes
import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..kernels import memory
from ..kernels.native import loops
from .door import setting
from .machine import address
from .program import Program, simplified
from .recorder import Abstract, Refused, Trace, kind_of, operand, positional, written
from .row_emission import Places, Variant, known_rows, row_code

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Rows", "kernel"]

PIECE = 1 << 15  # elements of what a thread takes at once
TIMES = 4  # how much larger than others arrays must be here, where each call costs more
LONGEST = 64  # calls of a program
MOST = 64  # shapes that one function has kernels for
CHUNK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
POOL = ctypes.CFUNCTYPE(None, CHUNK, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
pooled = None if loops is None else POOL(loops.POOL_RUN)
NAMES = {np.add: "sum", np.maximum: "max", np.minimum: "min"}


class RowTrace(Trace):
    """A program being recorded, of arrays whose largest has `shape`, reduced over `dim`."""

    def __init__(self, inputs: int, shape: tuple[int, ...]) -> None:
        super().__init__(inputs)
        self.shape = shape
        self.dim: tuple[int, ...] = ()

    def over(self, axes: Any) -> None:
        """Take note of the dimensions that are reduced: the same everywhere."""
        axes = tuple(sorted({a % len(self.shape) for a in axes}))
        if not axes or self.dim not in ((), axes):
            raise Refused(f"reductions over {self.dim} and {axes}")
        self.dim = axes

    @property
    def row(self) -> tuple[int, ...]:
        """The shape of one number per row."""
        return tuple([1 if d in self.dim else n for d, n in enumerate(self.shape)])

    @property
    def squeezed(self) -> tuple[int, ...]:
        """The same, without the dimensions that are reduced."""
        return tuple([n for d, n in enumerate(self.shape) if d not in self.dim])

    def array(self, place: int, dtype: Any, shape: Any, weak: bool = False) -> Abstract:
        return Row(self, place, dtype, shape, weak)


class Row(Abstract):
    """An array with a shape.

    Of an input of few dimensions, `place` holds a number per row and `broadcast` what it is beside
    arrays of all dimensions.
    """

    flags = SimpleNamespace(c_contiguous=False, forc=False, writeable=False)
    broadcast = -1

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def few(self) -> bool:
        """Whether it has some dimensions, and not all."""
        return 0 < self.ndim < len(self.trace.shape)

    def __array_ufunc__(
        self,
        ufunc: Any,
        method: str,
        *operands: Any,
        out: Any = None,
        where: Any = True,
        **options: Any,
    ) -> Any:
        if method == "reduce":
            return self.reduced(ufunc, **options)
        if method != "__call__" or ufunc.nout != 1 or options.keys() - {"dtype"}:
            raise Refused(f"{ufunc.__name__}.{method} with {list(options)}")
        given = aligned(tuple(map(operand, operands)))
        kinds = (*map(kind_of, given), None)
        asked = {"signature": (None,) * ufunc.nin + (options["dtype"],)} if options else {}
        dtypes = ufunc.resolve_dtypes(kinds, **asked)
        made = self.trace.ufunc(ufunc.__name__, given, dtypes)
        if where is not True:
            made = np.where(where, made, out[0])
        return made if out is None else written(out[0], made)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function is np.broadcast_to:
            return args[0].broadcast_to(*args[1:], **options)
        if function is np.expand_dims:
            return args[0].expanded(*args[1:], **options)
        if function is np.where:
            args = aligned(args)
        return super().__array_function__(function, types, args, options)

    def reduced(self, ufunc: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
                keepdims: bool = False, initial: Any = None) -> Row:  # fmt: skip
        """A sum or an extremum over the dimensions that make a row."""
        name, trace = NAMES.get(ufunc), self.trace
        start = initial is None or (name == "max" and initial == -math.inf)
        if name is None or self.shape != trace.shape or not start or axis is None:
            raise Refused(f"{ufunc.__name__}.reduce over {axis}")
        if out is not None or dtype is not None:
            raise Refused(f"{ufunc.__name__}.reduce into {dtype}")
        trace.over(axis if isinstance(axis, tuple) else (axis,))
        place = trace.call(name, (self.place,), self.dtype)
        return Row(trace, place, self.dtype, trace.row if keepdims else trace.squeezed)

    def reshape(self, *shape: Any) -> Row:
        """The same numbers per row, with or without the dimensions that are reduced."""
        new = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
        trace = self.trace
        if new == self.shape:
            return self
        if {new, self.shape} != {trace.row, trace.squeezed}:
            raise Refused(f"an array of shape {self.shape} as one of {new}")
        return Row(trace, self.place, self.dtype, new)

    def expanded(self, axis: Any) -> Row:
        """`np.expand_dims`, of what has a number per row."""
        if axis == ():
            return self
        self.trace.over(axis if isinstance(axis, tuple) else (axis,))
        return self.reshape(self.trace.row)

    def broadcast_to(self, shape: Any) -> Row:
        """The same elements, as often as the shape says."""
        (x,) = aligned((self,), True)
        if tuple(shape) != self.trace.shape:
            raise Refused("an array that is broadcast to another shape")
        return Row(self.trace, x.place, self.dtype, tuple(shape))


def aligned(operands: tuple[Any, ...], whole: bool = False) -> tuple[Any, ...]:
    """Operands of one call, each as it is beside the others: rule 2 of NOTE [Shapes of rows]."""
    few = [x for x in operands if isinstance(x, Row) and x.few]
    whole = whole or any(isinstance(x, Row) and x.ndim and not x.few for x in operands)
    if not few or not whole:
        if len({x.shape for x in few}) > 1:
            raise Refused("arrays of few dimensions that do not fit")
        return operands
    if any(x.broadcast < 0 for x in few):
        raise Refused("a number per row beside arrays of all dimensions")
    return tuple([
        Row(x.trace, x.broadcast, x.dtype, x.shape) if isinstance(x, Row) and x.few else x
        for x in operands
    ])  # fmt: skip


class Input(NamedTuple):
    """An input of a program: which operand it is, and its shape, with all dimensions."""

    place: int
    shape: tuple[int, ...]


class Recording(NamedTuple):
    """A program, its inputs, what is reduced, and the shapes of its results."""

    program: Program
    inputs: list[Input]
    shape: tuple[int, ...]
    dim: tuple[int, ...]
    made: list[tuple[int, ...]]
    single: bool


def record(function: Callable[..., Any], operands: Sequence[Any]) -> Recording:
    """The recording of a function on arrays of these shapes; whatever stops it, it raises.

    Each array is two inputs, of which one at least is dropped: rule 2 of NOTE [Shapes of rows].
    """
    arrays = [x for x in flat(operands) if isinstance(x, np.ndarray)]
    shape = max([x.shape for x in arrays], key=math.prod)
    trace = RowTrace(2 * len(arrays), shape)
    count = iter(range(len(arrays)))

    def abstract(x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(map(abstract, x))
        if not isinstance(x, np.ndarray):
            return x
        if x.ndim > len(shape):
            raise Refused("a small array of more dimensions")
        made = Row(trace, next(count), x.dtype, x.shape)
        made.broadcast = made.place + len(arrays) if made.few else -1
        return made

    result = function(*map(abstract, operands))
    results = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(x, Row) for x in results):
        raise Refused("a result that is no array")
    if not trace.dim:
        thin = {d for x in arrays if x.ndim == len(shape) for d, n in enumerate(x.shape) if n == 1}
        trace.dim = tuple(sorted(d for d in thin if shape[d] > 1)) or (len(shape) - 1,)
    if any(x.shape not in (shape, trace.row, trace.squeezed) for x in results):
        raise Refused("a result of another shape")
    chars = "".join([x.dtype.char for x in arrays])
    outputs = tuple([x.place for x in results])
    program = Program(chars * 2, tuple(trace.calls), outputs, (-1,) * len(outputs))
    inputs = [
        Input(i, trace.row if x.ndim < len(shape) and x.ndim else whole(x.shape, len(shape)))
        for i, x in enumerate(arrays)
    ] + [Input(i, whole(x.shape, len(shape))) for i, x in enumerate(arrays)]
    program, inputs = used(simplified(program), inputs)
    return Recording(program, inputs, shape, trace.dim, [x.shape for x in results],
                     not isinstance(result, tuple))  # fmt: skip


def whole(shape: tuple[int, ...], dims: int) -> tuple[int, ...]:
    """A shape with all dimensions, as broadcasting adds them."""
    return (1,) * (dims - len(shape)) + shape


def flat(operands: Any) -> list[Any]:
    """Operands, and what is in tuples among them."""
    return [y for x in operands for y in (flat(x) if isinstance(x, tuple) else (x,))]


def used(program: Program, inputs: list[Input]) -> tuple[Program, list[Input]]:
    """A program without inputs that it does not need."""
    count = len(program.inputs)
    needed = {i for call in program.calls for i in call.operands} | {*program.outputs}
    kept = [i for i in range(count) if i in needed]
    moved = {old: new for new, old in enumerate(kept)}
    place = [moved.get(i, -1) for i in range(count)]
    place += range(len(kept), len(kept) + len(program.calls))
    calls = [c._replace(operands=tuple([place[i] for i in c.operands])) for c in program.calls]
    made = program.rebuilt(calls, place)
    chars = "".join([program.inputs[i] for i in kept])
    return made._replace(inputs=chars), [inputs[i] for i in kept]


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
        program, inputs, shape, dim, made, _ = recording
        self.dtypes = [program.dtype(value) for value in program.outputs]
        rows = tuple([all(own[d] == 1 for d in dim) for _, own in inputs])
        row = [1 if d in dim else n for d, n in enumerate(shape)]
        strides = [strides_of(arrays[i], own) for i, own in inputs]
        for own, dtype in zip(made, self.dtypes, strict=True):
            full = shape if own == shape else row
            strides.append(strides_of(np.empty(full, dtype), full))
        kept = merged([d for d in range(len(shape)) if d not in dim], shape, strides)
        inner = merged(dim, shape, strides) or [(1, [0] * len(strides))]
        *outer, (length, steps) = inner
        sizes = [arrays[i].itemsize for i, _ in inputs] + [d.itemsize for d in self.dtypes]
        if any(step not in (0, size) for step, size in zip(steps, sizes, strict=True)):
            raise Refused("elements of a row that are apart")
        self.rows = math.prod([n for n, _ in kept])
        self.grain = max(1, PIECE * self.rows // max(1, math.prod(shape)))
        variant = Variant(len(kept), len(outer), tuple([s != 0 for s in steps[: len(inputs)]]))
        dims = [*kept, *outer]
        self.table = np.zeros(Places(len(strides), variant).count, np.int64)
        self.table[len(strides) :] = [n for n, _ in dims] + [length] + [
            along[i] for i in range(len(strides)) for _, along in dims
        ]  # fmt: skip
        self.address = address(row_code, program, rows, variant)
        self.function = CHUNK(self.address)

    def __call__(self, arrays: Sequence[Any]) -> Any:
        """What the function gives for arrays of the same shapes and strides."""
        recording = self.recording
        outputs = [
            np.empty(shape, dtype) for shape, dtype in zip(recording.made, self.dtypes, strict=True)
        ]
        table = self.table.copy()
        held = [*[arrays[i] for i, _ in recording.inputs], *outputs]
        table[: len(held)] = [memory.address(array) for array in held]
        if pooled is None:
            self.function(table.ctypes.data, 0, self.rows)
        else:
            pooled(self.function, table.ctypes.data, self.rows, self.grain)
        return outputs[0] if recording.single else tuple(outputs)


class Rows:
    """The kernels of a function, by shapes and strides of arrays and by numbers among operands."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.kernels: dict[Any, Any] = {}

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
        found = tuple(key)
        if found not in self.kernels:
            if len(self.kernels) >= MOST:
                self.kernels.clear()
            self.kernels[found] = self.made(operands, arrays)
        kernel = self.kernels[found]
        return None if kernel is None else kernel(arrays)

    def made(self, operands: Sequence[Any], arrays: Sequence[Any]) -> RowKernel | None:
        """The kernel for operands like these; None where the recorder or the compiler stop."""
        if not all(x.size for x in arrays):
            return None
        try:
            recording = record(self.function, operands)
            if len(recording.program.calls) > LONGEST or not known_rows(recording.program):
                return None
            return RowKernel(recording, arrays)
        except Exception:
            return None


def kernel(function: Callable[..., Any], names: Sequence[str]) -> Rows:
    """The kernels of a function, the last of whose operands have names."""
    return Rows(positional(function, names))
