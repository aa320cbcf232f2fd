"""Abstract arrays: they compute nothing, and note in a program what is done with them.

NOTE [Abstract arrays]
1. An array has a dtype and a shape. For an elementwise program, sizes need not be known: an operand
   then has the shape `SHAPE`, or none. So `ndim`, on which promotion depends, is known, and the
   size is beyond all memory, so that what would be made outside the recorder cannot be had.
2. A dtype is what NumPy says that the ufunc would give: `resolve_dtypes`. A parameter that is a
   Python float may be recorded, too. It is `weak`, as it is to NumPy.
3. What an array holds may change: it is the number of a value, and `out=`, `x[...] = v` and
   `np.copyto` put another number there. `.real` and `.imag` of a complex array are views of it.
4. Truth values, and so branches on data, are not known.

NOTE [Shapes]
1. The largest operand has all dimensions. Those that are reduced are the inner axes, the others the
   outer ones: NOTE [Axes] in `program`. An array is as large as the largest, or is broadcast to it,
   or has a number for each row.
2. An operand of fewer dimensions is what broadcasting makes of it beside one that has all. Beside
   others of fewer, and where `expand_dims` says so, it has a number for each row. So it is two
   inputs, of which one at least is dead code.
3. A sum over the leading dimensions alone goes across the rows, and has a number for each column.
   What else is computed of it has so, too. So it is with the one number of a sum of everything.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..kernels.allocation import StandIn
from .program import ALL, INNER, OUTER, Call, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Shape = tuple[int, ...]

__all__ = ["SHAPE", "Abstract", "Trace"]

SHAPE = (1 << 60,)
COLUMNS = 16  # at least, of sums across rows
NUMBERS = (bool, int, float, complex)
BOOL = np.dtype(bool)
LOGICAL = {"invert": "logical_not", "bitwise_and": "logical_and", "bitwise_or": "logical_or",
           "bitwise_xor": "logical_xor"}  # fmt: skip
WITHOUT_VECTORS = {"sin", "cos", "tan"}  # whose kernels look numbers up
POWERS: dict[Any, Any] = {2: np.square, 1: np.positive, 0.5: np.sqrt, -1: np.reciprocal}
REDUCING = {np.add: "sum", np.maximum: "max", np.minimum: "min", np.max: "max", np.min: "min"}


class Trace:
    """The calls so far, on arrays whose largest has `shape`.

    `in_rows`, its last dimension is the one whose elements lie closest together.
    """

    def __init__(self, shape: Shape = SHAPE, in_rows: bool = False) -> None:
        self.shape, self.in_rows = shape, in_rows
        self.calls: list[Call] = []
        self.dim: Shape = ()  # the inner axes, once they are known
        self.columns: set[int] = set()  # values that sums across rows are, or are made of them
        self.totals: set[int] = set()  # those that sums of everything are, or are made of them

    def call(
        self, function: str, operands: Sequence[int], dtype: Any, static: Any = None,
        axes: int = ALL,
    ) -> int:  # fmt: skip
        """Note a call; the number of its value."""
        made = Call(function, tuple(operands), np.dtype(dtype).char, static, axes)
        if made.across or not self.columns.isdisjoint(operands):
            self.columns.add(len(self.calls))
        if made.total or not self.totals.isdisjoint(operands):
            self.totals.add(len(self.calls))
        self.calls.append(made)
        return len(self.calls) - 1

    def constant(self, number: Any, dtype: Any) -> int:
        """The value that is one number everywhere, of a dtype."""
        return self.call("constant", (), dtype, repr(np.dtype(dtype).type(number).item()))

    def value(self, x: Any, dtype: Any) -> int:
        """The number of what an operand holds, cast to a dtype."""
        if not isinstance(x, Abstract):
            return self.constant(x, dtype)
        if x.dtype == dtype:
            return x.place
        return self.call("cast", (x.place,), dtype)

    def ufunc(self, name: str, operands: Sequence[Any], dtypes: Sequence[Any]) -> Abstract:
        """The array that a ufunc gives whose loop has these dtypes, the last for the result."""
        *given, made = dtypes
        if all(dtype == BOOL for dtype in given):
            name = LOGICAL.get(name, name)
        values = [self.value(x, dtype) for x, dtype in zip(operands, given, strict=True)]
        weak = all(x.weak for x in operands if isinstance(x, Abstract))
        shape = shape_of(*operands)
        return Abstract(self, self.call(name, values, made), made, shape, weak and made != BOOL)

    def over(self, axes: Any) -> bool:
        """Take note of the inner axes, the same everywhere; whether `axes` are the outer ones."""
        axes = tuple(sorted({a % len(self.shape) for a in axes}))
        rest = tuple(range(len(axes), len(self.shape)))
        columns = math.prod([self.shape[d] for d in rest])
        across = self.in_rows and axes == tuple(range(len(axes))) and columns >= COLUMNS
        dim = rest if across and self.dim in ((), rest) else axes
        if not axes or self.dim not in ((), dim):
            raise Refused(f"reductions over {self.dim} and {axes}")
        self.dim = dim
        return dim != axes

    def shapes(self, columns: bool) -> tuple[Shape, Shape]:
        """The shapes of one number per row, or column: with all dimensions, and with its own."""
        own = [(d in self.dim) == columns for d in range(len(self.shape))]
        sizes = list(zip(self.shape, own, strict=True))
        return tuple([n if o else 1 for n, o in sizes]), tuple([n for n, o in sizes if o])


class Abstract(StandIn, NDArrayOperatorsMixin):
    """An array of which a dtype and a shape are known: NOTE [Abstract arrays].

    Of an input of few dimensions, `place` holds a number per row, and `apart` what it is beside
    arrays of all dimensions.
    """

    flags = SimpleNamespace(c_contiguous=False, forc=False, writeable=False)

    def __init__(
        self, trace: Trace, place: int, dtype: Any, shape: Shape, weak: bool = False,
        apart: int = -1,
    ) -> None:  # fmt: skip
        self.trace, self.place, self.dtype = trace, place, np.dtype(dtype)
        self.shape, self.weak, self.apart = shape, weak, apart

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements there are."""
        return math.prod(self.shape)

    @property
    def few(self) -> bool:
        """Whether it has some dimensions, and not all."""
        return 0 < self.ndim < len(self.trace.shape)

    @property
    def columns(self) -> bool:
        """Whether it has a number for each column, by a sum across the rows."""
        return self.place in self.trace.columns

    @property
    def broadcast(self) -> int:
        """The value beside arrays of all dimensions; -1 where there is none."""
        return self.place if self.columns else self.apart

    @property
    def real(self) -> Any:
        """A view of the real part."""
        return Part(self, "real") if self.dtype.kind == "c" else self

    @property
    def imag(self) -> Any:
        """A view of the imaginary part; of a real array, zeros."""
        return Part(self, "imag") if self.dtype.kind == "c" else filled(self, 0)

    def __array_ufunc__(
        self, ufunc: Any, method: str, *operands: Any, out: Any = None, **options: Any
    ) -> Any:
        if method == "reduce":
            return self.reduced(ufunc, **options)
        if method != "__call__" or ufunc.nout != 1 or options.keys() - {"dtype"}:
            raise Refused(f"{ufunc.__name__}.{method} with {list(options)} is not elementwise")
        operands = aligned(*map(operand, operands))
        asked = {"signature": (None,) * ufunc.nin + (options["dtype"],)} if options else {}
        dtypes = ufunc.resolve_dtypes((*map(kind_of, operands), None), **asked)
        made = self.trace.ufunc(ufunc.__name__, operands, dtypes)
        return made if out is None else written(out[0], made)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function in REDUCING:
            return args[0].reduced(function, *args[1:], **options)
        own, out = FUNCTIONS.get(function), options.pop("out", None)
        if own is None:
            raise Refused(f"np.{function.__name__} is not elementwise")
        made = own(*args, **options)
        return made if out is None else written(out, made)

    def special(self, name: str) -> Any:
        """A function that NumPy lacks, by SciPy's name: NOTE [The seam] in `kernels.allocation`."""
        return self.trace.ufunc(name, (self,), (self.dtype, self.dtype))

    def __pow__(self, other: Any) -> Any:
        quick = None if isinstance(other, (Abstract, complex)) else POWERS.get(other)
        if quick is not None:
            return quick(self)
        return np.power(self, other)  # type: ignore[call-overload]

    def __getitem__(self, key: Any) -> Any:
        if key is not Ellipsis:
            raise Refused("an element is asked for")
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        written(self[key], value)

    def __bool__(self) -> bool:
        raise Refused("a branch on what an array holds")

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", copy: bool = True
    ) -> Any:
        """A copy in another dtype."""
        return like(self, self.trace.value(self, np.dtype(dtype)), dtype)

    def copy(self, order: str = "C") -> Any:
        """A new abstract array that holds the same value."""
        return like(self, self.place, self.dtype)

    def conj(self) -> Any:
        """The conjugate; of a real array, itself."""
        return np.conjugate(self) if self.dtype.kind == "c" else self

    conjugate = conj

    def reduced(self, ufunc: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
                keepdims: bool = False, initial: Any = None) -> Abstract:  # fmt: skip
        """A sum or an extremum along axes of one class."""
        name, trace = REDUCING.get(ufunc), self.trace
        start = initial is None or (name == "max" and initial == -math.inf)
        whole = self.shape == trace.shape != SHAPE
        if name is None or not whole or not start or (axis is None and name != "sum"):
            raise Refused(f"{ufunc.__name__}.reduce over {axis}")
        if out is not None or (dtype is not None and name != "sum"):
            raise Refused(f"{ufunc.__name__}.reduce into {dtype}")
        kind = self.dtype if dtype is None else np.dtype(dtype)
        if kind.kind not in "fc":
            raise Refused(f"{ufunc.__name__}.reduce of {kind}")
        if axis is None:
            place = trace.call("sum", (trace.value(self, kind),), kind, axes=0)
            return Abstract(trace, place, kind, (1,) * self.ndim if keepdims else ())
        across = trace.over(axis if isinstance(axis, tuple) else (axis,))
        if across and name != "sum":
            raise Refused(f"{ufunc.__name__}.reduce across rows")
        if across:
            value = trace.value(self, kind)
        else:
            value, name = self.place, name if dtype is None else "plain sum"
        place = trace.call(name, (value,), kind, axes=INNER if across else OUTER)
        return Abstract(trace, place, kind, trace.shapes(across)[not keepdims])

    def reshape(self, *shape: Any) -> Abstract:
        """The same numbers, with or without the dimensions that they have not."""
        new = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
        if new == self.shape:
            return self
        if {new, self.shape} != {*self.trace.shapes(self.columns)}:
            raise Refused(f"an array of shape {self.shape} as one of {new}")
        return Abstract(self.trace, self.place, self.dtype, new)


class Part(Abstract):
    """The real or the imaginary part of a complex array, which it shares."""

    def __init__(self, whole: Abstract, name: str) -> None:
        self.whole, self.name, self.trace = whole, name, whole.trace
        self.dtype = np.dtype(f"f{whole.dtype.itemsize // 2}")
        self.shape, self.weak, self.apart = whole.shape, False, -1

    @property
    def place(self) -> int:
        """The value that the whole has now, its part."""
        return self.trace.call(self.name, (self.whole.place,), self.dtype)

    @place.setter
    def place(self, value: int) -> None:
        other = self.trace.call(
            "imag" if self.name == "real" else "real", (self.whole.place,), self.dtype
        )
        parts = (value, other) if self.name == "real" else (other, value)
        self.whole.place = self.trace.call("complex", parts, self.whole.dtype)


def operand(x: Any) -> Any:
    """An operand of a ufunc: abstract, or a number, which NumPy's keep their dtype."""
    if isinstance(x, (Abstract, *NUMBERS)):
        return x
    if isinstance(x, (np.generic, np.ndarray)) and x.ndim == 0:
        return x
    raise Refused(f"{type(x).__name__} among the operands")


def kind_of(x: Any) -> Any:
    """What `resolve_dtypes` takes for an operand: a dtype, or the type of a Python number."""
    if isinstance(x, Abstract):
        return float if x.weak else x.dtype
    if isinstance(x, (np.generic, np.ndarray)):
        return x.dtype
    return BOOL if isinstance(x, bool) else type(x)


def shape_of(*operands: Any) -> Any:
    """The shape that operands have together."""
    return np.broadcast_shapes(*[x.shape for x in operands if isinstance(x, Abstract)])


def aligned(*operands: Any, whole: bool = False) -> tuple[Any, ...]:
    """Operands of one call, each as it is beside the others: rule 2 of NOTE [Shapes]."""
    few = [x for x in operands if isinstance(x, Abstract) and x.few]
    if not few:
        return operands
    if not whole and not any(isinstance(x, Abstract) and x.ndim and not x.few for x in operands):
        if len({(x.shape, x.columns) for x in few}) > 1:
            raise Refused("arrays of few dimensions that do not fit")
        return operands
    if any(x.broadcast < 0 for x in few):
        raise Refused("a number per row beside arrays of all dimensions")
    return tuple([
        Abstract(x.trace, x.broadcast, x.dtype, x.shape)
        if isinstance(x, Abstract) and x.few else x
        for x in operands
    ])  # fmt: skip


def common(*operands: Any) -> Any:
    """The dtype of operands, of which one at least is an array, together."""
    kinds = [
        x if not isinstance(x, Abstract) else 0.0 if x.weak else x.dtype
        for x in map(operand, operands)
    ]
    return np.result_type(*kinds)


def like(x: Any, place: int, dtype: Any) -> Abstract:
    """An array of the shape of `x` that holds a value."""
    return Abstract(x.trace, place, dtype, x.shape)


def written(target: Any, value: Any) -> Any:
    """Put a value in the place of what `target` holds; `target`."""
    if not isinstance(target, Abstract) or len(shape_of(value)) > target.ndim:
        raise Refused("a write to what is no array here")
    target.place = target.trace.value(operand(value), target.dtype)
    return target


def copied(target: Any, value: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Record `np.copyto` of an operand."""
    written(target, value if where is True else np.where(where, value, target))


def filled(x: Any, value: Any, dtype: Any = None, order: Any = "K", subok: Any = True,
           shape: Any = None) -> Abstract:  # fmt: skip
    """An array of one value, like `x`: `np.full_like`."""
    whole = x.trace.shape
    if shape is not None and tuple(shape) not in (SHAPE, x.shape) and not (
        len(shape) == len(whole) and all(n in (1, m) for n, m in zip(shape, whole, strict=True))
    ):  # fmt: skip
        raise Refused("an array of another shape is made")
    dtype = x.dtype if dtype is None else np.dtype(dtype)
    number = value if isinstance(value, Abstract) else operand(value)
    made = Abstract(x.trace, -1, dtype, x.shape if shape is None else tuple(shape))
    return written(made, number)


def zeros(x: Any, *how: Any, **named: Any) -> Abstract:
    """An array of zeros like `x`."""
    return filled(x, 0, *how, **named)


def chosen(condition: Any, x: Any = None, y: Any = None) -> Abstract:
    """Record `np.where` of three operands."""
    if x is None or y is None:
        raise Refused("np.where of a condition alone")
    condition, x, y = aligned(condition, x, y)
    trace = next(v.trace for v in (condition, x, y) if isinstance(v, Abstract))
    dtype = common(x, y)
    return trace.ufunc("select", (condition, x, y), (BOOL, dtype, dtype, dtype))


def expanded(x: Any, axis: Any) -> Abstract:
    """`np.expand_dims`, of what has a number per row."""
    if axis == ():
        return x
    x.trace.over(axis if isinstance(axis, tuple) else (axis,))
    return x.reshape(x.trace.shapes(False)[0])


def broadcasted(x: Any, shape: Any) -> Abstract:
    """`np.broadcast_to`: the same elements, as often as the shape says."""
    (found,) = aligned(x, whole=True)
    if tuple(shape) != x.trace.shape:
        raise Refused("an array that is broadcast to another shape")
    return Abstract(x.trace, found.place, x.dtype, tuple(shape))


def clipped(x: Any, least: Any = None, most: Any = None) -> Any:
    """`np.clip`, which of equal zeros keeps the one that is there."""
    if least is not None:
        x = np.where((x < least) | np.isnan(least), least, x)
    return x if most is None else np.where((x > most) | np.isnan(most), most, x)


def numbered(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """Record `np.nan_to_num` of a real operand."""
    limits = np.finfo(x.dtype)
    high, low = (
        (limits.max if posinf is None else posinf),
        (limits.min if neginf is None else neginf),
    )
    found = np.where(np.isnan(x), nan, x)
    found = np.where(x == np.inf, high, found)
    return np.where(x == -np.inf, low, found)


def rounded(x: Any, decimals: int = 0) -> Any:
    """Record `np.round` of a real operand."""
    if not decimals:
        return np.rint(x)
    scale = 10.0 ** abs(decimals)
    return np.rint(x * scale) / scale if decimals > 0 else np.rint(x / scale) * scale


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: chosen,
    np.clip: clipped,
    np.nan_to_num: numbered,
    np.round: rounded,
    np.copyto: copied,
    np.expand_dims: expanded,
    np.broadcast_to: broadcasted,
    np.full_like: filled,
    np.empty_like: zeros,
    np.zeros_like: zeros,
    np.ones_like: lambda x, *how, **named: filled(x, 1, *how, **named),
    np.copy: lambda x: x.copy(),
    np.real: lambda x: x.real,
    np.imag: lambda x: x.imag,
    np.ndim: lambda x: x.ndim,
    np.shape: lambda x: x.shape,
    np.iscomplexobj: lambda x: x.dtype.kind == "c",
    np.result_type: common,
}
