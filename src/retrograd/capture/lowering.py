"""From calls on arrays to loops on memory: what of a recording native code can do.

NOTE [Lowering]
1. A forward or a formula that was noted as one call is run once more, on copies of the arrays that
   it had, and now all that NumPy does in it is noted: its expansion. What is in that is lowered to
   `Loop`s: one of NumPy's elementary functions, a reduction, a product of matrices or a copy, over
   `Part`s of memory with places and strides that are known. A view is no work: it is such a part.
2. What has no such form, is large, or writes what it was given, stays the call that it was.
3. The arithmetic of `compiler.mathematics` is that of kernels; sums of float32 are added in
   float64, those of float64 with what rounding leaves.
"""

from __future__ import annotations

import operator
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..compiler.abstract import LOGICAL, NUMBERS, POWERS
from ..engine.transforms.watch import Watcher
from ..kernels.memory import address
from .recording import Call, Recording, Slot
from .storages import Opaque, Part, Storage, Storages, check_apart, like, owner_of, steps_of
from .traced import TracedArray

__all__ = ["Loop", "Lowering", "Number", "Undrawn", "slots"]

MOST = 1 << 13  # elements of an array
PRODUCTS = 1 << 13  # multiplications of a matrix product
BOOL = np.dtype(bool)


class Number(NamedTuple):
    """A number that stands in the program."""

    text: str
    dtype: np.dtype[Any]


class Loop(NamedTuple):
    """One function over all elements of its result.

    `kind` is "map", "reduce" or "matmul"; `function` a name of `compiler.mathematics`, or of the
    reduction; `dtypes` what a map's operands are cast to, and its result has; `axes` what a
    reduction goes along.
    """

    kind: str
    function: str
    out: Part
    operands: tuple[Any, ...]
    dtypes: tuple[Any, ...] = ()
    axes: tuple[int, ...] = ()


class Expansion(Recording):
    """A recording of what NumPy does in one call, which ends with an error."""

    def stop(self, reason: str) -> None:
        raise Opaque(reason)


class Undrawn(Watcher):
    """Within it nothing is drawn: a stream of random numbers stays where it is."""

    def draw(self, proceed: Any) -> Any:
        """Raise Opaque."""
        raise Opaque("random numbers are drawn")


def expanded(step: Call, recording: Recording) -> tuple[Any, Any, Expansion]:
    """What a call gives, the copies of its arrays by their slots, and what NumPy does in it."""
    inner = Expansion()
    copies: dict[int, Any] = {}

    def copy(value: Any) -> Any:
        if isinstance(value, Slot):
            if value in recording.constants:
                return inner.constant(recording.constants[value])
            if value not in copies:
                array = recording.arrays[value]
                if not 0 < array.size <= MOST:
                    raise Opaque("large, or empty")
                copies[value] = inner.slot(like(array))
            return copies[value]
        if type(value) in (list, tuple):
            return type(value)([copy(v) for v in value])
        if type(value) is dict:
            return {key: copy(v) for key, v in value.items()}
        return value

    args, options = copy(step.args), copy(step.options)
    given = {int(slot): traced for slot, traced in copies.items()}
    function = step.function
    if isinstance(getattr(function, "loops", None), np.ufunc):  # of a door
        function = function.loops
    if is_numpys(function):
        found = inner.call(function, args, options)
    else:
        with Undrawn():
            found = function(*args, **options)
    return found, given, inner


def is_numpys(function: Any) -> bool:
    """Whether a function is NumPy's, which takes arrays as they are."""
    if isinstance(function, (np.ufunc, operator.attrgetter)):
        return True
    if function in (operator.getitem, operator.setitem, operator.pow):
        return True
    owner = getattr(function, "__objclass__", None)
    return (
        owner is np.ndarray
        or isinstance(getattr(function, "__self__", None), np.ufunc)
        or str(getattr(function, "__module__", "")).partition(".")[0] == "numpy"
    )


class Lowering:
    """Lowers the calls of one recording, one after the other."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.world = Storages()
        self.reasons: dict[int, str] = {}
        self.kept: list[Any] = []  # so that places in memory stay those of one array

    def lowered(self, step: Any) -> list[Loop] | None:
        """The loops of a step, or None."""
        if not isinstance(step, Call):
            return None
        try:
            return self.loops(step)
        except (Opaque, TypeError, ValueError, KeyError, NotImplementedError) as error:
            self.reasons[id(step)] = f"{type(error).__name__}: {error}"
            return None

    def outer(self, slot: int) -> Part:
        """The part that an array of the recording is."""
        array = self.recording.arrays[slot]
        if not array.flags.aligned:
            raise Opaque("memory that is not aligned")
        if self.world.find(array) is None:
            whole = array if slot in self.recording.root_slots else owner_of(array)
            self.world.enter(whole, Storage("slot", slot, whole))
        return self.world.part(array)

    def loops(self, step: Call) -> list[Loop]:
        """The loops of a call."""
        every = self.recording.arrays
        if not slots([*step.args, *step.options.values()]):
            raise Opaque("no arrays")
        found, given, inner = expanded(step, self.recording)
        arrays = inner.arrays
        local = Storages()
        for slot, traced in given.items():
            outer = self.outer(slot)
            if local.find(traced.array) is None:
                local.enter(traced.array, outer.storage, outer.offset)
        results: dict[int, int] = {}
        pair(found, step.made, results, inner)
        for slot, number in results.items():
            array, mine = arrays[slot], every[number]
            if array.shape != mine.shape or array.dtype != mine.dtype or not array.size:
                raise Opaque("a result of another shape, or empty")
            if steps_of(array) != steps_of(mine):
                raise Opaque("a result lies in another way")
            if mine.size > MOST:
                raise Opaque("large")
            if local.find(array) is None:  # new memory
                outer = self.outer(number)
                whole = owner_of(array)
                if whole.nbytes != owner_of(mine).nbytes:
                    raise Opaque("a result in larger memory")
                local.enter(whole, outer.storage, outer.offset - (address(array) - address(whole)))
            elif local.part(array)[:2] != self.outer(number)[:2]:
                raise Opaque("a result that is a view there, and new here")
        for number, array in enumerate(arrays):
            if not 0 < array.size <= MOST:
                raise Opaque("large, or empty")
            if local.find(array) is None and number not in inner.constants:
                whole = owner_of(array)
                local.enter(whole, Storage("inner", number, whole))
        for made_here in (arrays[slot] for slot in results):
            if any(np.may_share_memory(made_here, c) for c in inner.constants.values()):
                raise Opaque("a view of a constant")
        self.kept.append((step, arrays))
        made: list[Loop] = []
        for each in inner.steps:
            if not isinstance(each, Call):
                raise Opaque("a branch on a value")
            made += primitive(each, arrays, local, inner.constants, self)
        if made and any(
            number not in given and self.outer(number).storage.slot != number
            for number in results.values()
        ):
            raise Opaque("a view among new results")
        return made


def pair(found: Any, made: Any, results: dict[int, int], inner: Recording) -> None:
    """Match what an expansion gives with the slots of the call."""
    if isinstance(made, tuple):
        for f, m in zip(found, made, strict=True):
            pair(f, m, results, inner)
    elif made is not None:
        if isinstance(found, (np.ndarray, np.generic)):
            raise Opaque("a constant result")
        if not isinstance(found, TracedArray):
            raise Opaque(f"a {type(found).__name__} as a result")
        results[found.slot] = made


def primitive(  # noqa: PLR0915 (a table of cases)
    step: Call, arrays: Any, local: Storages, constants: Any, lowering: Any
) -> list[Loop]:
    """The loops of one call of NumPy."""
    function, args, options = step.function, step.args, dict(step.options)
    name = getattr(function, "__name__", "")

    def operand(value: Any) -> Any:
        if isinstance(value, Slot):
            if value in constants and constants[value].ndim == 0:
                array = constants[value]
                return Number(repr(array.item()), array.dtype)
            if value in constants:
                array = constants[value]
                if lowering.world.find(array) is None:
                    lowering.world.enter(array, Storage("constant", 0, array))
                return lowering.world.part(array)
            return local.part(arrays[value])
        if isinstance(value, (*NUMBERS, np.generic)):
            return value
        raise Opaque(f"{name} of a {type(value).__name__}")

    if step.made is not None and not isinstance(step.made, int):
        raise Opaque(f"several results of {name}")
    out: Any = None if step.made is None else arrays[step.made]
    reads = [arrays[s] for s in slots(args)]
    looks = name in VIEWS or isinstance(function, operator.attrgetter)
    if out is not None and looks and any(out is a or np.may_share_memory(out, a) for a in reads):
        return []  # a view
    written = options.pop("out", None)
    if written is not None:
        written = written[0] if isinstance(written, tuple) else written
        out = arrays[written]
        check_apart(out, reads)
    if isinstance(function, np.ufunc):
        return [mapped(function, [operand(v) for v in args], local.part(out), options)]
    of = getattr(function, "__self__", None)
    if isinstance(of, np.ufunc) and name == "reduce":
        options = {"axis": 0, **options}
        return reduced(of.__name__, operand(args[0]), local.part(out), args[1:], options)
    if name in ("copyto", "setitem"):
        target = args[0]
        value = args[-1]
        if name == "setitem":
            if not isinstance(args[1], (type(Ellipsis), slice)) and args[1] != ():
                raise Opaque("a part is written")
            if isinstance(args[1], slice) and args[1] != slice(None):
                raise Opaque("a part is written")
        if options.get("where", True) is not True:
            raise Opaque("copyto(where=)")
        check_apart(arrays[target], reads[1:])
        part = local.part(arrays[target])
        return [copied(operand(value), part)]
    if name in ("copy", "astype", "flatten", "ravel", "reshape", "ascontiguousarray"):
        if name in ("flatten", "ravel", "reshape") and not arrays[args[0]].flags.c_contiguous:
            raise Opaque(f"{name} that copies in order")
        source = operand(args[0])
        part = local.part(out)
        if isinstance(source, Number):
            return [copied(source, part)]
        if source.shape != part.shape:
            flat = Part(
                source.storage,
                source.offset,
                (prod(source.shape),),
                (source.dtype.itemsize,),
                source.dtype,
            )
            part = Part(part.storage, part.offset, flat.shape, flat.strides, part.dtype)
            source = flat
        return [copied(source, part)]
    if name in ("empty_like", "empty"):
        return []
    if name in ("zeros_like", "ones_like", "full_like"):
        number = {"zeros_like": 0, "ones_like": 1}.get(name)
        if number is None:
            number = args[1]
            if isinstance(number, Slot):
                return [copied(operand(number), local.part(out))]
        return [copied(number, local.part(out))]
    if name == "pow" and function is operator.pow:
        quick = (
            None
            if not isinstance(args[1], NUMBERS) or isinstance(args[1], complex)
            else POWERS.get(args[1])
        )
        given = [operand(v) for v in args]
        if quick is not None:
            return [mapped(quick, given[:1], local.part(out), {})]
        return [mapped(np.power, given, local.part(out), {})]
    if name == "where" and len(args) == 3:
        dtypes = (BOOL, out.dtype, out.dtype)
        given = [literal(operand(v), d) for v, d in zip(args, dtypes, strict=True)]
        return [Loop("map", "select", local.part(out), tuple(given), (*dtypes, out.dtype))]
    if function in REDUCTIONS:
        return reduced(REDUCTIONS[function], operand(args[0]), local.part(out), args[1:], options)
    if name in ("conj", "conjugate"):
        return [mapped(np.conjugate, [operand(args[0])], local.part(out), {})]
    if name == "concatenate":
        return joined([operand(v) for v in args[0]], local.part(out), *args[1:], **options)
    if name in ("matmul", "dot"):
        return product(operand(args[0]), operand(args[1]), local.part(out))
    raise Opaque(f"no native form of {name}")


# Functions that may give a view, or the array itself, and write nothing.
VIEWS = {
    *("asarray", "ascontiguousarray", "astype", "atleast_1d", "broadcast_to", "conj", "conjugate"),
    *("diagonal", "expand_dims", "flip", "getitem", "moveaxis", "permute_dims", "ravel", "real"),
    *("imag", "reshape", "rollaxis", "squeeze", "swapaxes", "transpose", "view"),
}

REDUCTIONS = {
    np.sum: "add", np.ndarray.sum: "add", np.max: "maximum", np.ndarray.max: "maximum",
    np.min: "minimum", np.ndarray.min: "minimum", np.amax: "maximum", np.amin: "minimum",
}  # fmt: skip


def slots(value: Any) -> list[int]:
    """The slots in arguments."""
    if isinstance(value, Slot):
        return [int(value)]
    if isinstance(value, (list, tuple)):
        return [s for v in value for s in slots(v)]
    return []


def kind_of(x: Any) -> Any:
    """What `resolve_dtypes` takes for an operand."""
    if isinstance(x, (Part, Number)):
        return x.dtype
    if isinstance(x, np.generic):
        return x.dtype
    return BOOL if isinstance(x, bool) else type(x)


def literal(x: Any, dtype: Any) -> Any:
    """A number of Python's or NumPy's as one of the program."""
    if isinstance(x, (Part, Number)):
        return x
    return Number(repr(np.dtype(dtype).type(x).item()), np.dtype(dtype))


def mapped(ufunc: Any, operands: list[Any], out: Part, options: Any) -> Loop:
    """A call of a ufunc."""
    if options.get("where", True) is not True or set(options) - {"where", "dtype", "casting"}:
        raise Opaque(f"{ufunc.__name__} with {list(options)}")
    if "dtype" in options or ufunc.nout != 1:
        raise Opaque(f"{ufunc.__name__} with a dtype")
    if ufunc.signature is not None:
        if ufunc is np.matmul:
            return product(operands[0], operands[1], out)[0]
        raise Opaque(ufunc.__name__)
    dtypes = ufunc.resolve_dtypes((*map(kind_of, operands), None))
    name = ufunc.__name__
    if all(dtype == BOOL for dtype in dtypes[:-1]):
        name = LOGICAL.get(name, name)
    given = tuple([literal(x, d) for x, d in zip(operands, dtypes[:-1], strict=True)])
    return Loop("map", name, out, given, tuple(dtypes))


def copied(source: Any, target: Part) -> Loop:
    """A copy, cast to what the target is."""
    given = literal(source, target.dtype)
    if isinstance(given, Part) and len(given.shape) > len(target.shape):
        raise Opaque("a copy to fewer dimensions")
    return Loop("map", "copy", target, (given,), (given.dtype, target.dtype))


def joined(parts: list[Any], out: Part, axis: int = 0) -> list[Loop]:
    """Parts side by side along an axis."""
    made, axis, start = [], axis % len(out.shape), 0
    for part in parts:
        if not isinstance(part, Part) or len(part.shape) != len(out.shape):
            raise Opaque("what is joined has other dimensions")
        room = out._replace(offset=out.offset + start * out.strides[axis], shape=part.shape)
        made.append(copied(part, room))
        start += part.shape[axis]
    return made


def reduced(name: str, x: Any, out: Part, args: Any, options: Any) -> list[Loop]:
    """A reduction along axes."""
    options = dict(options)
    names = ["axis", "dtype", "out", "keepdims", "initial", "where"]
    options.update(zip(names, args, strict=False))
    axis = options.pop("axis", None)
    options.pop("keepdims", None)
    options.pop("out", None)
    dtype = options.pop("dtype", None)
    if any(v is not None and v is not np._NoValue for v in options.values()):
        raise Opaque(f"{name} with {list(options)}")
    if name not in ("add", "maximum", "minimum") or not isinstance(x, Part):
        raise Opaque(f"a reduction by {name}")
    if (
        x.dtype.kind not in "fc"
        or (x.dtype.kind == "c" and name != "add")
        or x.dtype.char not in "fdFD"
    ):
        raise Opaque(f"a reduction of {x.dtype}")
    if out.dtype != x.dtype or (dtype is not None and np.dtype(dtype) != x.dtype):
        raise Opaque("a reduction to another dtype")
    if prod(x.shape) == 0:
        raise Opaque("a reduction of nothing")
    axes = range(len(x.shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return [Loop("reduce", name, out, (x,), (), tuple(sorted(a % len(x.shape) for a in axes)))]


def lengthened(part: Part, place: int) -> Part:
    """A part with one more dimension, of size 1."""
    shape, strides = list(part.shape), list(part.strides)
    shape.insert(place, 1)
    strides.insert(place, 0)
    return part._replace(shape=tuple(shape), strides=tuple(strides))


def product(x: Any, y: Any, out: Part) -> list[Loop]:
    """A product of matrices, or stacks of them."""
    if not (isinstance(x, Part) and isinstance(y, Part)) or not (x.shape and y.shape):
        raise Opaque("a product of numbers")
    if len(x.shape) == 1:
        x = x._replace(shape=(1, *x.shape), strides=(0, *x.strides))
        out = lengthened(out, len(out.shape) - (len(y.shape) > 1))
    if len(y.shape) == 1:
        y = y._replace(shape=(*y.shape, 1), strides=(*y.strides, 0))
        out = lengthened(out, len(out.shape))
    if not (x.dtype == y.dtype == out.dtype) or x.dtype.char not in "fd":
        raise Opaque("a product of these dtypes")
    if prod(out.shape) * x.shape[-1] > PRODUCTS or x.shape[-1] == 0:
        raise Opaque("a large product")
    return [Loop("matmul", "matmul", out, (x, y))]
