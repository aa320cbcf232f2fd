"""The recorder: arrays that compute nothing, and note in a program what is done with them.

It runs a forward, a formula or an update rule once, on abstract operands, over NumPy's protocols:
NOTE [The seam] in `kernels.allocation`. Whatever is not elementwise raises an error.

NOTE [Abstract arrays]
1. An array has a dtype and one of two shapes: that of all arrays with dimensions, `SHAPE`, or none.
   So `ndim`, on which promotion depends, is known, and sizes are not: they are beyond all memory,
   so that what would be made outside the recorder cannot be had.
2. A dtype is what NumPy says that the ufunc would give: `resolve_dtypes`. A parameter that is a
   Python float may be recorded, too. It is `weak`, as it is to NumPy.
3. What an array holds may change: it is the number of a value, and `out=`, `x[...] = v` and
   `np.copyto` put another number there. `.real` and `.imag` of a complex array are views of it.
4. Truth values, and so branches on data, are not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..kernels.allocation import StandIn
from .program import Call, Program, simplified

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["FLOAT", "Abstract", "Operand", "Recording", "Refused", "positional", "record"]

SHAPE = (1 << 60,)
NUMBERS = (bool, int, float, complex)
BOOL = np.dtype(bool)
LOGICAL = {"invert": "logical_not", "bitwise_and": "logical_and", "bitwise_or": "logical_or",
           "bitwise_xor": "logical_xor"}  # fmt: skip
POWERS: dict[Any, Any] = {2: np.square, 1: np.positive, 0.5: np.sqrt, -1: np.reciprocal}


PASSING = (MemoryError, RecursionError)  # that say nothing of the function that is recorded


class Refused(TypeError):  # noqa: N818 (it is no fault)
    """A function does what no elementwise program says."""


class Operand(NamedTuple):
    """What is known of an array: its dtype, as NumPy's character, and whether it has dimensions.

    Nothing is known of the dimensions of a parameter that is a Python float.
    """

    dtype: str
    dimensions: bool | None


FLOAT = Operand("d", None)


class Recording(NamedTuple):
    """A program, and which of a function's operands are its inputs."""

    program: Program
    places: tuple[int, ...]


class Trace:
    """The calls so far. Values are numbered as in `Program`."""

    def __init__(self, inputs: int) -> None:
        self.inputs = inputs
        self.calls: list[Call] = []

    def call(self, function: str, operands: Sequence[int], dtype: Any, text: str = "") -> int:
        """Note a call; the number of its value."""
        self.calls.append(Call(function, tuple(operands), np.dtype(dtype).char, text))
        return self.inputs + len(self.calls) - 1

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
        return self.array(self.call(name, values, made), made, shape, weak and made != BOOL)

    def array(self, place: int, dtype: Any, shape: Any, weak: bool = False) -> Abstract:
        """An array that holds a value."""
        return Abstract(self, place, dtype, shape, weak)


class Abstract(StandIn, NDArrayOperatorsMixin):
    """An array that is known by its dtype alone: NOTE [Abstract arrays]."""

    def __init__(
        self, trace: Trace, place: int, dtype: Any, shape: Any, weak: bool = False
    ) -> None:
        self.trace, self.place, self.dtype = trace, place, np.dtype(dtype)
        self.shape, self.weak = shape, weak

    @property
    def ndim(self) -> int:
        """0 or 1."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """More than there is memory for, or one."""
        return self.shape[0] if self.shape else 1

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
        if method != "__call__" or ufunc.nout != 1 or options:
            raise Refused(f"{ufunc.__name__}.{method} with {list(options)} is not elementwise")
        operands = tuple(map(operand, operands))
        dtypes = ufunc.resolve_dtypes((*map(kind_of, operands), None))
        made = self.trace.ufunc(ufunc.__name__, operands, dtypes)
        if out is None:
            return made
        return written(out[0], made)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
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
        """Another array that holds the same."""
        return like(self, self.place, self.dtype)

    def conj(self) -> Any:
        """The conjugate; of a real array, itself."""
        return np.conjugate(self) if self.dtype.kind == "c" else self

    conjugate = conj


class Part(Abstract):
    """The real or the imaginary part of a complex array, which it shares."""

    def __init__(self, whole: Abstract, name: str) -> None:
        self.whole, self.name, self.trace = whole, name, whole.trace
        self.dtype = np.dtype(f"f{whole.dtype.itemsize // 2}")
        self.shape, self.weak = whole.shape, False

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


def common(*operands: Any) -> Any:
    """The dtype of operands, of which one at least is an array, together."""
    kinds = [
        x if not isinstance(x, Abstract) else 0.0 if x.weak else x.dtype
        for x in map(operand, operands)
    ]
    return np.result_type(*kinds)


def like(x: Any, place: int, dtype: Any) -> Abstract:
    """An array of the shape of `x` that holds a value."""
    return x.trace.array(place, dtype, x.shape)


def written(target: Any, value: Any) -> Any:
    """Put a value in the place of what `target` holds; `target`."""
    if not isinstance(target, Abstract) or len(shape_of(value)) > target.ndim:
        raise Refused("a write to what is no array here")
    target.place = target.trace.value(operand(value), target.dtype)
    return target


def copied(target: Any, value: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """`np.copyto`."""
    written(target, value if where is True else np.where(where, value, target))


def filled(x: Any, value: Any, dtype: Any = None, order: Any = "K", subok: Any = True,
           shape: Any = None) -> Abstract:  # fmt: skip
    """An array of one value, like `x`: `np.full_like`."""
    if shape is not None and tuple(shape) not in (SHAPE, x.shape):
        raise Refused("an array of another shape is made")
    dtype = x.dtype if dtype is None else np.dtype(dtype)
    number = value if isinstance(value, Abstract) else operand(value)
    made = x.trace.array(-1, dtype, x.shape if shape is None else tuple(shape))
    return written(made, number)


def zeros(x: Any, *how: Any, **named: Any) -> Abstract:
    """An array of zeros like `x`."""
    return filled(x, 0, *how, **named)


def chosen(condition: Any, x: Any = None, y: Any = None) -> Abstract:
    """`np.where` of three operands."""
    if x is None or y is None:
        raise Refused("np.where of a condition alone")
    trace = next(v.trace for v in (condition, x, y) if isinstance(v, Abstract))
    dtype = common(x, y)
    return trace.ufunc("select", (condition, x, y), (BOOL, dtype, dtype, dtype))


def clipped(x: Any, least: Any = None, most: Any = None) -> Any:
    """`np.clip`, which of equal zeros keeps the one that is there."""
    if least is not None:
        x = np.where((x < least) | np.isnan(least), least, x)
    return x if most is None else np.where((x > most) | np.isnan(most), most, x)


def numbered(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """`np.nan_to_num` of a real array."""
    limits = np.finfo(x.dtype)
    high, low = (
        (limits.max if posinf is None else posinf),
        (limits.min if neginf is None else neginf),
    )
    found = np.where(np.isnan(x), nan, x)
    found = np.where(x == np.inf, high, found)
    return np.where(x == -np.inf, low, found)


def rounded(x: Any, decimals: int = 0) -> Any:
    """`np.round` of a real array."""
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


def positional(function: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """The function with operands alone, the last of which it takes under `names`."""

    def call(*given: Any) -> Any:
        count = len(given) - len(names)
        return function(*given[:count], **dict(zip(names, given[count:], strict=True)))

    return call


def record(
    function: Callable[..., Any], operands: Sequence[Any], writes: bool = False
) -> Recording:
    """The program of a function, by running it on abstract operands; whatever stops it, it raises.

    Of the operands, an `Operand` or FLOAT stands for what is not known, and anything else for
    itself. The output is what the function returns; if it `writes`, they are the operands that it
    has written.
    """
    unknown = [i for i, x in enumerate(operands) if isinstance(x, Operand)]
    trace = Trace(len(unknown))
    given = list(operands)
    for place, i in enumerate(unknown):
        dtype, dimensions = operands[i]
        given[i] = Abstract(trace, place, dtype, SHAPE if dimensions else (), dimensions is None)
    result = function(*given)
    if writes:
        made = [given[i] for place, i in enumerate(unknown) if given[i].place != place]
        targets = tuple([place for place, i in enumerate(unknown) if given[i].place != place])
    else:
        made, targets = [result], (-1,)
    if not made or not all(isinstance(x, Abstract) and x.shape for x in made):
        raise Refused("the result is no array of the operands' shape")
    inputs = "".join([operands[i].dtype for i in unknown])
    program = Program(inputs, tuple(trace.calls), tuple([x.place for x in made]), targets)
    return reduced(simplified(program), unknown, [given[i].ndim for i in unknown])


def reduced(program: Program, places: Sequence[int], dims: Sequence[int]) -> Recording:
    """A recording without inputs that are not used; they may have another shape than the result."""
    count = len(program.inputs)
    used = {i for call in program.calls for i in call.operands} | {*program.targets}
    kept = [i for i in range(count) if i in used]
    if any(value < count for value in program.outputs) or not any(dims[i] for i in kept):
        raise Refused("nothing is computed")
    moved = {old: new for new, old in enumerate(kept)}
    shift = count - len(kept)

    def at(value: int) -> int:
        return moved[value] if value < count else value - shift

    calls = [call._replace(operands=tuple(map(at, call.operands))) for call in program.calls]
    return Recording(
        Program(
            "".join([program.inputs[i] for i in kept]),
            tuple(calls),
            tuple(map(at, program.outputs)),
            tuple([-1 if t < 0 else at(t) for t in program.targets]),
        ),
        tuple([places[i] for i in kept]),
    )
