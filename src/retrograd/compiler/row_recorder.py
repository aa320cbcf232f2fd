"""The recorder of functions with sums and maxima along dimensions: arrays that have shapes.

What is reduced, and what is broadcast, depends on them. So a recording is for given shapes; the
code of its program is for any sizes that are no numbers in it.

NOTE [Shapes of rows]
1. The largest operand has all dimensions. Those that are reduced make a row, the others say which.
   An array is as large as the largest, or is broadcast to it, or has a number for each row.
2. An operand of fewer dimensions is what broadcasting makes of it beside one that has all. Beside
   others of fewer, and where `expand_dims` says so, it has a number for each row.
3. A sum over the leading dimensions alone goes across the rows, and has a number for each column.
   What else is computed of it has so, too, and is NumPy's: there are few such numbers.
4. Whatever does not fit, in its shape or in how it lies in memory, is NumPy's.
"""

from __future__ import annotations

import math
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .program import Program, live, simplified
from .recorder import Abstract, Refused, Trace, kind_of, operand, written
from .row_plan import ACROSS, LANES, PLAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Recording", "columnwise", "flat", "record", "sums_across"]

NAMES = {np.add: "sum", np.maximum: "max", np.minimum: "min", np.max: "max", np.min: "min"}


class RowTrace(Trace):
    """A program being recorded, of arrays whose largest has `shape`, reduced over `dim`."""

    def __init__(self, inputs: int, shape: tuple[int, ...], across: bool) -> None:
        super().__init__(inputs)
        self.shape, self.across = shape, across
        self.dim: tuple[int, ...] = ()
        self.columns: set[int] = set()  # values that have a number for each column

    def call(self, function: str, operands: Sequence[int], dtype: Any, text: str = "") -> int:
        place = super().call(function, operands, dtype, text)
        if function == ACROSS or not self.columns.isdisjoint(operands):
            self.columns.add(place)
        return place

    def over(self, axes: Any) -> bool:
        """Take note of the dimensions of rows, the same everywhere; whether `axes` go across."""
        axes = tuple(sorted({a % len(self.shape) for a in axes}))
        rest = tuple(range(len(axes), len(self.shape)))
        columns = math.prod([self.shape[d] for d in rest])
        across = self.across and axes == tuple(range(len(axes))) and columns >= LANES[4]
        dim = rest if across and self.dim in ((), rest) else axes
        if not axes or self.dim not in ((), dim):
            raise Refused(f"reductions over {self.dim} and {axes}")
        self.dim = dim
        return dim != axes

    @property
    def row(self) -> tuple[int, ...]:
        """The shape of one number per row."""
        return tuple([1 if d in self.dim else n for d, n in enumerate(self.shape)])

    @property
    def squeezed(self) -> tuple[int, ...]:
        """The same, without the dimensions that are reduced."""
        return tuple([n for d, n in enumerate(self.shape) if d not in self.dim])

    @property
    def column(self) -> tuple[int, ...]:
        """The shape of one number per column."""
        return tuple([n if d in self.dim else 1 for d, n in enumerate(self.shape)])

    @property
    def pairs(self) -> list[set[tuple[int, ...]]]:
        """Shapes of the same numbers with all dimensions and with those alone that they have."""
        return [{self.row, self.squeezed}, {self.column, self.shape[-len(self.dim) :]}]

    def array(self, place: int, dtype: Any, shape: Any, weak: bool = False) -> Abstract:
        return Row(self, place, dtype, shape, weak)


class Row(Abstract):
    """An array with a shape.

    Of an input of few dimensions, `place` holds a number per row and `broadcast` what it is beside
    arrays of all dimensions.
    """

    flags = SimpleNamespace(c_contiguous=False, forc=False, writeable=False)
    apart = -1
    trace: RowTrace

    @property
    def across(self) -> bool:
        """Whether it has a number for each column, by a sum across the rows."""
        return self.place in self.trace.columns

    @property
    def broadcast(self) -> int:
        """The value beside arrays of all dimensions; -1 where there is none."""
        return self.place if self.across else self.apart

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def few(self) -> bool:
        """Whether it has some dimensions, and not all."""
        return 0 < self.ndim < len(self.trace.shape)

    def __array_ufunc__(
        self, ufunc: Any, method: str, *operands: Any, out: Any = None, **options: Any
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
        return made if out is None else written(out[0], made)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function is np.broadcast_to:
            return args[0].broadcast_to(*args[1:], **options)
        if function is np.expand_dims:
            return args[0].expanded(*args[1:], **options)
        if function in NAMES:
            return self.reduced(function, *args[1:], **options)
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
        if out is not None or (dtype is not None and name != "sum"):
            raise Refused(f"{ufunc.__name__}.reduce into {dtype}")
        if trace.over(axis if isinstance(axis, tuple) else (axis,)):
            if name != "sum":
                raise Refused(f"{ufunc.__name__}.reduce across rows")
            place = trace.call(ACROSS, (self.place,), self.dtype)
            column = trace.column if keepdims else self.shape[-len(trace.dim) :]
            return Row(trace, place, self.dtype, column)
        kind, name = (self.dtype, name) if dtype is None else (np.dtype(dtype), PLAIN)
        place = trace.call(name, (self.place,), kind)
        return Row(trace, place, kind, trace.row if keepdims else trace.squeezed)

    def reshape(self, *shape: Any) -> Row:
        """The same numbers, with or without the dimensions that they have not."""
        new = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
        trace = self.trace
        if new == self.shape:
            return self
        if {new, self.shape} != trace.pairs[self.across]:
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
        if len({(x.shape, x.across) for x in few}) > 1:
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
    """A function's program: what a kernel computes of it, its inputs, and the shapes of results.

    The kernel gives what has a number for each element or row, then the sums across rows, of which
    `whole`, the program with all calls, makes what has a number for each column.
    """

    program: Program
    inputs: list[Input]
    whole: Program
    shape: tuple[int, ...]
    dim: tuple[int, ...]
    made: list[tuple[int, ...]]
    single: bool


def record(function: Callable[..., Any], operands: Sequence[Any]) -> Recording:
    """The recording of a function on arrays of these shapes; whatever stops it, it raises.

    Each array is two inputs, of which one at least is dropped: rule 2 of NOTE [Shapes of rows].
    """
    arrays = [x for x in flat(operands) if isinstance(x, np.ndarray)]
    largest = max(arrays, key=lambda x: x.size)
    shape = largest.shape
    trace = RowTrace(2 * len(arrays), shape, in_rows(largest))
    count = iter(range(len(arrays)))

    def abstract(x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(map(abstract, x))
        if not isinstance(x, np.ndarray):
            return x
        if x.ndim > len(shape):
            raise Refused("a small array of more dimensions")
        made = Row(trace, next(count), x.dtype, x.shape)
        made.apart = made.place + len(arrays) if made.few else -1
        return made

    result = function(*map(abstract, operands))
    results = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(x, Row) for x in results):
        raise Refused("a result that is no array")
    if not trace.dim:
        thin = {d for x in arrays if x.ndim == len(shape) for d, n in enumerate(x.shape) if n == 1}
        trace.dim = tuple(sorted(d for d in thin if shape[d] > 1)) or (len(shape) - 1,)
    if any(x.shape != shape and x.shape not in trace.pairs[x.across] for x in results):
        raise Refused("a result of another shape")
    chars = "".join([x.dtype.char for x in arrays])
    outputs = tuple([x.place for x in results])
    program = Program(chars * 2, tuple(trace.calls), outputs, (-1,) * len(outputs))
    inputs = [
        Input(i, trace.row if x.ndim < len(shape) and x.ndim else whole(x.shape, len(shape)))
        for i, x in enumerate(arrays)
    ] + [Input(i, whole(x.shape, len(shape))) for i, x in enumerate(arrays)]
    whole_program = simplified(program)
    program, inputs = used(live(rowwise(whole_program)), inputs)
    return Recording(program, inputs, whole_program, shape, trace.dim, [x.shape for x in results],
                     not isinstance(result, tuple))  # fmt: skip


def sums_across(program: Program) -> list[int]:
    """The values that are sums across rows."""
    count = len(program.inputs)
    return [i for i, call in enumerate(program.calls, count) if call.function == ACROSS]


def columns(program: Program) -> set[int]:
    """The values that have a number for each column: sums across rows, and what is made of them."""
    found: set[int] = set()
    for number, call in enumerate(program.calls, len(program.inputs)):
        if call.function == ACROSS or not found.isdisjoint(call.operands):
            found.add(number)
    return found


def rowwise(program: Program) -> Program:
    """What a kernel computes: a number for each element or row, and sums across rows."""
    found, sums = columns(program), sums_across(program)
    count = len(program.inputs)
    for number in found.difference(sums):
        call = program.calls[number - count]
        beside = [i for i in call.operands if i not in found]
        if any(i < count or program.calls[i - count].operands for i in beside):
            raise Refused("what is summed across rows, beside them")
        if call.function not in ("cast", "select") and not hasattr(np, call.function):
            raise Refused(f"{call.function} of sums across rows")
    if any(not found.isdisjoint(program.calls[i - count].operands) for i in sums):
        raise Refused("sums across rows of such sums")
    outputs = [*[i for i in program.outputs if i not in found], *sums]
    return program._replace(outputs=tuple(outputs), targets=(-1,) * len(outputs))


def columnwise(program: Program) -> Callable[[Sequence[Any]], dict[int, Any]]:
    """What computes, of the sums across rows, all that has a number for each column."""
    sums, found = sums_across(program), columns(program)
    constants: dict[int, Any] = {}
    steps = []
    for number, call in enumerate(program.calls, len(program.inputs)):
        if call.function == "constant":
            constants[number] = np.dtype(call.dtype).type(float(call.text))
        elif number in found and number not in sums:
            name = "where" if call.function == "select" else call.function
            cast = partial(np.ndarray.astype, dtype=call.dtype)
            steps.append((number, cast if name == "cast" else getattr(np, name), call.operands))

    def computed(totals: Sequence[Any]) -> dict[int, Any]:
        known = constants | dict(zip(sums, totals, strict=True))
        for number, function, operands in steps:
            known[number] = function(*[known[i] for i in operands])
        return known

    return computed


def in_rows(x: Any) -> bool:
    """Whether the last dimension is the one whose elements lie closest together."""
    steps = [abs(step) for step, n in zip(x.strides, x.shape, strict=True) if n > 1]
    return bool(steps) and x.shape[-1] > 1 and steps[-1] == min(steps)


def whole(shape: tuple[int, ...], dims: int) -> tuple[int, ...]:
    """A shape with all dimensions, as broadcasting adds them."""
    return (1,) * (dims - len(shape)) + shape


def flat(operands: Any) -> list[Any]:
    """Operands, and what is in tuples among them."""
    found: list[Any] = []
    for x in operands:
        if isinstance(x, tuple):
            found += flat(x)
        else:
            found.append(x)
    return found


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
