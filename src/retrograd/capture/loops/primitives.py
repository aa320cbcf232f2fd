"""What each of NumPy's functions is as loops over memory: one function here for each kind of call.

A call is given as a `Given`. Each function gives its loops, or raises `Opaque`: then the call stays
one of NumPy's. A newcomer adds a function of NumPy's here, and in no other place.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...compiler.abstract import LOGICAL, NUMBERS, POWERS
from ..steps import Call, Slot, places_in
from .storages import Opaque, Part, Storage, Storages, check_apart, owner_of

__all__ = ["Group", "Loop", "Number", "copied", "inner", "primitive", "with_parts"]

BOOL = np.dtype(bool)

# Functions that may give a view, or the array itself, and write nothing.
VIEWS = {
    *("asarray", "ascontiguousarray", "astype", "atleast_1d", "broadcast_to", "conj", "conjugate"),
    *("diagonal", "expand_dims", "flip", "getitem", "moveaxis", "permute_dims", "ravel", "real"),
    *("imag", "reshape", "rollaxis", "sliding_window_view", "squeeze", "swapaxes", "transpose"),
    "view",
}
TABLE: dict[str, Any] = {}  # of functions and methods, by name
OF_UFUNCS: dict[str, Any] = {}  # of ufuncs' methods


class Number(NamedTuple):
    """A number that stands in the program."""

    text: str
    dtype: np.dtype[Any]


class Loop(NamedTuple):
    """One function over all elements of its result.

    `kind` is a method of `native.Emission`: "map", "reduce", "first", "gather", "scatter" or
    "matmul"; `function` a name of `compiler.mathematics`, or what the kind says; `dtypes` what a
    map's operands are cast to, and its result has; `axes` what a reduction goes along, or where the
    indices of "gather" and "scatter" stand.
    """

    kind: str
    function: str
    out: Part
    operands: tuple[Any, ...]
    dtypes: tuple[Any, ...] = ()
    axes: tuple[int, ...] = ()

    @property
    def reads(self) -> list[Part]:
        """The parts of memory that it reads."""
        return [part for part in self.operands if part.__class__ is Part]

    @property
    def parts(self) -> list[Part]:
        """Those that it writes and reads."""
        return [self.out, *self.reads]


@dataclass(frozen=True)
class Group:
    """Maps of one shape as one loop over its elements: what one gives the next takes as it is.

    Only what is `stored` is written to memory.
    """

    loops: tuple[Loop, ...]
    stored: tuple[bool, ...]
    kind: ClassVar[str] = "group"

    @cached_property
    def parts(self) -> list[Part]:
        """The parts of memory that it writes and reads, each once."""
        found: dict[Part, None] = {}
        made: set[Part] = set()
        for loop, stored in zip(self.loops, self.stored, strict=True):
            found |= dict.fromkeys([part for part in loop.reads if part not in made])
            made.add(loop.out)
            if stored:
                found[loop.out] = None
        return list(found)


def with_parts(
    item: Any, at: Callable[[Part], Part], number: Callable[[Any], Any] | None = None
) -> Any:
    """A loop or group with `at(part)` in place of each of its parts, or `number(x)` of numbers."""
    if isinstance(item, Group):
        return Group(tuple([with_parts(loop, at, number) for loop in item.loops]), item.stored)
    out = at(item.out)
    given = [at(x) if isinstance(x, Part) else number(x) if number else x for x in item.operands]
    return Loop(item.kind, item.function, out, tuple(given), item.dtypes, item.axes)


class Given:
    """A call of NumPy's: what it is given, and what lies where."""

    def __init__(self, step: Call, arrays: Any, local: Storages, constants: Any, world: Any):
        self.function, self.args, self.options = step.function, step.args, dict(step.options)
        self.name = str(getattr(step.function, "__name__", ""))
        self.arrays, self.local, self.constants, self.world = arrays, local, constants, world
        if step.made is not None and not isinstance(step.made, int):
            raise Opaque(f"several results of {self.name}")
        self.result: Any = None if step.made is None else arrays[step.made]
        self.reads = [arrays[s] for s in places_in(step.args)]

    def is_view(self) -> bool:
        """Whether what it gives is memory that it was given."""
        made = self.result
        return may_view(self.function) and made is not None and any(
            made is a or np.may_share_memory(made, a) for a in self.reads
        )  # fmt: skip

    def take_out(self) -> bool:
        """Let the result be the array given as `out`, if there is one: whether there is."""
        written = self.options.pop("out", None)
        if written is None:
            return False
        written = written[0] if isinstance(written, tuple) else written
        self.result = self.arrays[written]
        check_apart(self.result, self.reads)
        return True

    @property
    def out(self) -> Part:
        """The part that the result is."""
        return self.local.part(self.result)

    def array(self, place: int) -> Any:
        """The array at a place among the arguments."""
        if not isinstance(self.args[place], Slot):
            raise Opaque(f"{self.name} of a number")
        return self.arrays[self.args[place]]

    def operand(self, value: Any) -> Any:
        """An argument: a part, or a number."""
        if isinstance(value, Slot):
            if value in self.constants:
                array = self.constants[value]
                if array.ndim == 0:
                    return Number(repr(array.item()), array.dtype)
                if self.world.find(array) is None:
                    whole = owner_of(array)
                    self.world.enter(whole, Storage("constant", 0, whole))
                return self.world.part(array)
            return self.local.part(self.arrays[value])
        if isinstance(value, (*NUMBERS, np.generic)):
            return value
        raise Opaque(f"{self.name} of a {type(value).__name__}")

    def operands(self) -> list[Any]:
        """All arguments."""
        return [self.operand(v) for v in self.args]

    def part(self, place: int) -> Part:
        """The part that an argument is."""
        found = self.operand(self.args[place])
        if not isinstance(found, Part):
            raise Opaque(f"{self.name} of a number")
        return found

    def named(self, *names: str) -> list[Any]:
        """The arguments after the first by these names, None where absent; others are refused."""
        found = dict(zip(names, self.args[1:], strict=False)) | self.options
        if set(found) - set(names) or len(self.args) > len(names) + 1:
            raise Opaque(f"{self.name} with {sorted(found)}")
        values = [found.get(name) for name in names]
        return [None if v is np._NoValue else v for v in values]


def may_view(function: Any) -> bool:
    """Whether what a function gives may be memory that it was given, and it writes nothing."""
    return getattr(function, "__name__", "") in VIEWS or isinstance(function, operator.attrgetter)


Lowers = Callable[[Given], list[Loop]]


def primitive(step: Call, arrays: Any, local: Storages, constants: Any, world: Any) -> list[Loop]:
    """The loops of one call of NumPy's; raises Opaque."""
    given = Given(step, arrays, local, constants, world)
    if given.is_view():
        return []
    if isinstance(step.function, np.ufunc):
        return elementwise(given)
    of_ufunc = isinstance(getattr(step.function, "__self__", None), np.ufunc)
    found = (OF_UFUNCS if of_ufunc else TABLE).get(given.name)
    if found is None:
        raise Opaque(f"no native form of {given.name}")
    made: list[Loop] = found(given)
    return made


def lowers(*names: str, table: dict[str, Any] = TABLE) -> Callable[[Lowers], Lowers]:
    """Enter a function as that which lowers calls of these names."""

    def enter(function: Lowers) -> Lowers:
        table.update(dict.fromkeys(names, function))
        return function

    return enter


def inner(shape: Any, dtype: Any) -> Part:
    """Memory for what is between two loops."""
    whole = np.empty(shape, dtype)
    return Part(Storage("inner", -1, whole), 0, whole.shape, whole.strides, whole.dtype)


def in_rows(part: Part, shape: Any) -> Part:
    """A part without gaps, in row-major order, as one of another shape."""
    return part._replace(shape=tuple(shape), strides=np.empty(shape, part.dtype).strides)


# -- elementwise -------------------------------------------------------------------------------


def kind_of(x: Any) -> Any:
    """What `resolve_dtypes` takes for an operand."""
    if isinstance(x, (Part, Number, np.generic)):
        return x.dtype
    return BOOL if isinstance(x, bool) else type(x)


def literal(x: Any, dtype: Any) -> Any:
    """A number of Python's or NumPy's as one of the program."""
    if isinstance(x, (Part, Number)):
        return x
    return Number(repr(np.dtype(dtype).type(x).item()), np.dtype(dtype))


def elementwise(given: Given) -> list[Loop]:
    """A ufunc."""
    is_given = given.take_out()
    if given.function is np.matmul:
        return products(given)
    if given.function.signature is not None:
        raise Opaque(given.name)
    options = given.options
    chosen, dtype = options.pop("where", True), options.pop("dtype", None)
    options.pop("casting", None)
    if options:
        raise Opaque(f"{given.name} with {list(options)}")
    if chosen is True:
        return [mapped(given.function, given.operands(), given.out, dtype)]
    if not is_given:
        raise Opaque(f"{given.name} with where, into new memory")
    made = inner(given.out.shape, given.out.dtype)
    loop = mapped(given.function, given.operands(), made, dtype)
    return [loop, chosen_from(given.operand(chosen), made, given.out, given.out)]


def mapped(ufunc: Any, operands: list[Any], out: Part, dtype: Any = None) -> Loop:
    """A ufunc of operands."""
    if ufunc.nout != 1:
        raise Opaque(ufunc.__name__)
    kinds = (*map(kind_of, operands), None)
    if dtype is None:
        dtypes = ufunc.resolve_dtypes(kinds)
    else:
        dtypes = ufunc.resolve_dtypes(kinds, signature=(None,) * ufunc.nin + (np.dtype(dtype),))
    name = ufunc.__name__
    if all(each == BOOL for each in dtypes[:-1]):
        name = LOGICAL.get(name, name)
    given = tuple([literal(x, d) for x, d in zip(operands, dtypes[:-1], strict=True)])
    return Loop("map", name, out, given, tuple(dtypes))


def chosen_from(condition: Any, x: Any, y: Any, out: Part) -> Loop:
    """`x` where a condition holds, else `y`."""
    dtypes = (BOOL, out.dtype, out.dtype)
    parts = [literal(v, d) for v, d in zip((condition, x, y), dtypes, strict=True)]
    return Loop("map", "select", out, tuple(parts), (*dtypes, out.dtype))


def copied(source: Any, target: Part) -> Loop:
    """A copy, cast to what the target is."""
    given = literal(source, target.dtype)
    if isinstance(given, Part) and len(given.shape) > len(target.shape):
        raise Opaque("a copy to fewer dimensions")
    return Loop("map", "copy", target, (given,), (given.dtype, target.dtype))


@lowers("outer", table=OF_UFUNCS)
def outer(given: Given) -> list[Loop]:
    """`ufunc.outer`: all pairs."""
    x, y = given.part(0), given.part(1)
    for _ in y.shape:
        x = lengthened(x, len(x.shape))
    if given.options:
        raise Opaque(f"outer with {list(given.options)}")
    return [mapped(given.function.__self__, [x, y], given.out)]


@lowers("pow")
def power(given: Given) -> list[Loop]:
    """`x ** y`."""
    y = given.args[1]
    quick = None if not isinstance(y, NUMBERS) or isinstance(y, complex) else POWERS.get(y)
    operands = given.operands()
    return [mapped(quick or np.power, operands[: 1 if quick else 2], given.out)]


@lowers("added")
def added(given: Given) -> list[Loop]:
    """`kernels.layout.added`."""
    return [mapped(np.add, given.operands(), given.out)]


@lowers("_erf_block", "_erfc_block")
def error_function(given: Given) -> list[Loop]:
    """The kernels of `erf` and `erfc`, on double precision."""
    name, x = given.name.split("_")[1], given.part(0)
    return [Loop("map", name, given.out, (x,), (x.dtype, x.dtype))]


@lowers("where")
def where(given: Given) -> list[Loop]:
    """`np.where` of three arguments."""
    if len(given.args) != 3 or given.options:
        raise Opaque("where of one argument")
    condition, x, y = given.operands()
    return [chosen_from(condition, x, y, given.out)]


@lowers("conj", "conjugate")
def conjugate(given: Given) -> list[Loop]:
    """The conjugate, by a method."""
    given.take_out()
    return [mapped(np.conjugate, given.operands()[:1], given.out)]


@lowers("clip")
def clip(given: Given) -> list[Loop]:
    """Values between two bounds: of zeros, two bounds leave the value's, one gives its own."""
    given.take_out()
    low, high = given.named("min", "max")
    x, made = given.part(0), list[Loop]()
    for ufunc, bound in ((np.maximum, low), (np.minimum, high)):
        if bound is not None:
            pair = [x, given.operand(bound)]  # the second counts where both are zeros
            pair = pair if low is None or high is None else pair[::-1]
            made.append(mapped(ufunc, pair, given.out))
            x = given.out
    if not made or given.out.dtype != given.part(0).dtype:
        raise Opaque("clip without bounds, or to another dtype")
    return made


@lowers("round", "around", "rint")
def rounded(given: Given) -> list[Loop]:
    """Values rounded to integers."""
    given.take_out()
    if given.named("decimals")[0]:
        raise Opaque("round to decimals")
    return [mapped(np.rint, given.operands()[:1], given.out)]


# -- copies ------------------------------------------------------------------------------------


@lowers("copyto")
def copyto(given: Given) -> list[Loop]:
    """`np.copyto`."""
    target = given.part(0)
    check_apart(given.array(0), given.reads[1:])
    chosen = given.options.get("where", True)
    if chosen is True:
        return [copied(given.operand(given.args[1]), target)]
    return [chosen_from(given.operand(chosen), given.operand(given.args[1]), target, target)]


@lowers("copy", "astype", "ascontiguousarray", "flatten", "ravel", "reshape")
def copy(given: Given) -> list[Loop]:
    """A copy, of another dtype or in another shape."""
    x, out = given.operand(given.args[0]), given.out
    if isinstance(x, Part) and x.shape != out.shape:
        array = given.array(0)
        orders = [v for v in (*given.args[1:], *given.options.values()) if isinstance(v, str)]
        if orders not in ([], ["C"]) or not given.result.flags.c_contiguous:
            raise Opaque(f"{given.name} that copies in another order")
        return [copied(x, in_rows(out, array.shape))]
    return [copied(x, out)]


@lowers("empty", "empty_beside", "empty_like")
def nothing(given: Given) -> list[Loop]:
    """Memory as it comes."""
    return []


@lowers("zeros_like", "ones_like", "full_like")
def filled(given: Given) -> list[Loop]:
    """One value throughout."""
    number = {"zeros_like": 0, "ones_like": 1}.get(given.name)
    return [copied(given.operand(given.args[1]) if number is None else number, given.out)]


@lowers("concatenate", "stack")
def joined(given: Given) -> list[Loop]:
    """Parts side by side along an axis."""
    given.take_out()
    (axis,) = given.named("axis")
    out, made, start = given.out, list[Loop](), 0
    axis = (axis or 0) % len(out.shape)
    for value in given.args[0]:
        part = given.operand(value)
        if isinstance(part, Part) and given.name == "stack":
            part = lengthened(part, axis)
        if not isinstance(part, Part) or len(part.shape) != len(out.shape):
            raise Opaque("what is joined has other dimensions")
        room = out._replace(offset=out.offset + start * out.strides[axis], shape=part.shape)
        made.append(copied(part, room))
        start += part.shape[axis]
    return made


# -- elements by indices -------------------------------------------------------------------------


def basic(array: Any, key: Any) -> Any:
    """The view of an array that a key without arrays names."""
    key = key if isinstance(key, tuple) else (key,)
    found = array[key if any(k is Ellipsis for k in key) else (*key, Ellipsis)]
    if not np.may_share_memory(found, array):
        raise Opaque("a key that makes a copy")
    return found


def by_arrays(given: Given, array: Any, key: Any) -> tuple[tuple[Part, ...], tuple[int, ...]]:
    """The indices in a key, and where they stand: the first of their axes, how many, and which."""
    key = list(key) if isinstance(key, tuple) else [key]
    if any(k is Ellipsis for k in key):
        place = next(i for i, k in enumerate(key) if k is Ellipsis)
        key[place : place + 1] = [slice(None)] * (array.ndim - len(key) + 1)
    if not all(isinstance(k, Slot) or (isinstance(k, slice) and k == slice(None)) for k in key):
        raise Opaque("arrays and other things are an index")
    dims = [d for d, k in enumerate(key) if isinstance(k, Slot)]
    parts = [given.operand(key[d]) for d in dims]
    if any(not isinstance(p, Part) or p.dtype.kind not in "iu" for p in parts):
        raise Opaque("a mask, or a number, is an index")
    shape = np.broadcast_shapes(*[p.shape for p in parts])
    first = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
    wide = [p._replace(shape=shape, strides=broadcast(p, shape)) for p in parts]
    return tuple(wide), (first, len(shape), *dims)


@lowers("getitem")
def getitem(given: Given) -> list[Loop]:
    """`x[key]`, where it is no view."""
    array, key = given.array(0), given.args[1]
    if not [*places_in(key)]:
        return [copied(given.local.part(basic(array, key)), given.out)]
    indices, axes = by_arrays(given, array, key)
    return [Loop("gather", "copy", given.out, (given.part(0), *indices), (), axes)]


@lowers("setitem")
def setitem(given: Given) -> list[Loop]:
    """`x[key] = value`."""
    array, key, value = given.array(0), given.args[1], given.operand(given.args[2])
    if not [*places_in(key)]:
        view = basic(array, key)
        check_apart(view, [given.arrays[s] for s in places_in(given.args[2])])
        return [copied(value, given.local.part(view))]
    if isinstance(key, Slot) and given.arrays[key].dtype == BOOL:
        if given.arrays[key].shape != array.shape or (isinstance(value, Part) and value.shape):
            raise Opaque("values are written by a mask")
        target = given.part(0)
        return [chosen_from(given.operand(key), value, target, target)]
    return scattered(given, "copy", array, key, value)


@lowers("at", table=OF_UFUNCS)
def at(given: Given) -> list[Loop]:
    """`ufunc.at`: each value is combined with what stands at its index by then."""
    ufunc = given.function.__self__
    array, value = given.array(0), given.operand(given.args[2])
    if mapped(ufunc, [given.part(0), value], given.part(0)).dtypes[-1] != array.dtype:
        raise Opaque(f"{ufunc.__name__}.at of other dtypes")
    return scattered(given, ufunc.__name__, array, given.args[1], value)


def scattered(given: Given, name: str, array: Any, key: Any, value: Any) -> list[Loop]:
    """Values written, or combined with what is there, at indices."""
    target, (indices, axes) = given.part(0), by_arrays(given, array, key)
    check_apart(array, given.reads[1:])
    first, _, *dims = axes
    rest = [n for d, n in enumerate(array.shape) if d not in dims]
    shape = (*rest[:first], *indices[0].shape, *rest[first:])
    value = literal(value, target.dtype)
    if isinstance(value, Part):
        if len(value.shape) > len(shape):
            raise Opaque("values with more dimensions than places")
        value = value._replace(shape=shape, strides=broadcast(value, shape))
    made: list[Loop] = []
    read = isinstance(value, Part) and value.storage is target.storage  # before all is written
    if read or isinstance(value, Number) or value.dtype != target.dtype:
        part = inner(shape, target.dtype)
        made, value = [copied(value, part)], part
    return [*made, Loop("scatter", name, target, (value, *indices), (), axes)]


@lowers("take")
def take(given: Given) -> list[Loop]:
    """Elements along an axis."""
    given.take_out()
    index, axis, mode = given.named("indices", "axis", "mode")
    x, part = given.part(0), given.operand(index)
    if mode not in (None, "raise") or not isinstance(part, Part) or part.dtype.kind not in "iu":
        raise Opaque("take of a number, or in another mode")
    if axis is None:
        if not given.array(0).flags.c_contiguous:
            raise Opaque("take from what lies in another order")
        x = in_rows(x, (prod(x.shape),))
    axes = ((axis or 0) % len(x.shape), len(part.shape), (axis or 0) % len(x.shape))
    return [Loop("gather", "copy", given.out, (x, part), (), axes)]


@lowers("take_along_axis")
def take_along_axis(given: Given) -> list[Loop]:
    """For each place the element that the index there names along an axis."""
    index, axis = given.named("indices", "axis")
    x, part = given.part(0), given.operand(index)
    if axis is None or not isinstance(part, Part) or len(x.shape) != len(part.shape):
        raise Opaque("take_along_axis of what is flattened")
    if any(n < m for d, (n, m) in enumerate(zip(x.shape, given.out.shape, strict=True))
           if d != axis % len(x.shape)):  # fmt: skip
        raise Opaque("take_along_axis that broadcasts")
    wide = part._replace(shape=given.out.shape, strides=broadcast(part, given.out.shape))
    return [Loop("gather", "along", given.out, (x, wide), (), (axis % len(x.shape),))]


@lowers("put_along_axis")
def put_along_axis(given: Given) -> list[Loop]:
    """For each place a value that is written where the index there names along an axis."""
    index, value, axis = given.named("indices", "values", "axis")
    x, part = given.part(0), given.operand(index)
    if axis is None or not isinstance(part, Part) or len(x.shape) != len(part.shape):
        raise Opaque("put_along_axis of what is flattened")
    check_apart(given.array(0), given.reads[1:])
    room = inner(part.shape, x.dtype)
    operands = (room, part)
    return [
        copied(given.operand(value), room),
        Loop("scatter", "along", x, operands, (), (axis % len(x.shape),)),
    ]


# -- reductions ----------------------------------------------------------------------------------


REDUCTIONS = {
    "sum": "add", "max": "maximum", "amax": "maximum", "min": "minimum", "amin": "minimum",
    "prod": "multiply", "all": "logical_and", "any": "logical_or",
}  # fmt: skip
FLOATS = "fdFD"


@lowers("reduce", table=OF_UFUNCS)
def reduce(given: Given) -> list[Loop]:
    """`ufunc.reduce`, along the first axis if none is named."""
    if len(given.args) == 1:
        given.options.setdefault("axis", 0)
    return reduction(given, given.function.__self__.__name__)


@lowers(*REDUCTIONS)
def reduced(given: Given) -> list[Loop]:
    """A sum, a product, a maximum, a minimum, all or any."""
    return reduction(given, REDUCTIONS[given.name])


@lowers("mean")
def mean(given: Given) -> list[Loop]:
    """A mean of floats."""
    made = reduction(given, "add")
    x, out = made[0].operands[0], made[0].out
    if x.dtype.char not in FLOATS:
        raise Opaque("a mean of integers")
    count = prod([x.shape[d] for d in made[0].axes])
    real = np.dtype(f"f{x.dtype.itemsize // 2}") if x.dtype.kind == "c" else x.dtype
    return [*made, mapped(np.true_divide, [out, real.type(count)], out)]


def reduction(given: Given, name: str) -> list[Loop]:
    """A reduction along axes; an initial value counts as one more element."""
    given.take_out()
    names: tuple[str, ...] = ("axis", "dtype", "out", "keepdims", "initial", "where")
    if given.name not in ("sum", "prod", "mean", "reduce"):
        names = tuple([n for n in names if n != "dtype"])
    found = dict(zip(names, given.named(*names), strict=True))
    axis, dtype, initial = (found.get(name) for name in ("axis", "dtype", "initial"))
    if found["out"] is not None or found["where"] not in (None, True):
        raise Opaque(f"{name} with where")
    x, out = given.part(0), given.out
    if x.dtype.char in "eg" or (x.dtype.kind == "c" and name not in ("add", "multiply")):
        raise Opaque(f"a reduction of {x.dtype}")
    if name not in REDUCTIONS.values() or (dtype is not None and np.dtype(dtype) != out.dtype):
        raise Opaque(f"a reduction by {name}")
    if (
        x.dtype.char in FLOATS
        and name not in ("logical_and", "logical_or")
        and out.dtype != x.dtype
    ):
        raise Opaque("a reduction to another dtype")
    if prod(x.shape) == 0:
        raise Opaque("a reduction of nothing")
    axes = range(len(x.shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(sorted(a % len(x.shape) for a in axes))
    made = [Loop("reduce", name, out, (x,), (), axes)]
    if initial is None:
        return made
    if not isinstance(initial, NUMBERS):
        raise Opaque(f"{name} from another array")
    ufunc = getattr(np, name)
    return [*made, Loop("map", name, out, (out, literal(initial, out.dtype)),
                        (out.dtype,) * (ufunc.nin + 1))]  # fmt: skip


@lowers("argmax", "argmin")
def first(given: Given) -> list[Loop]:
    """Where the largest or the smallest element stands first; NaN is both."""
    given.take_out()
    axis, _ = given.named("axis", "keepdims")
    x = given.part(0)
    if x.dtype.kind == "c" or x.dtype.char in "eg":
        raise Opaque(f"{given.name} of {x.dtype}")
    axes = tuple(range(len(x.shape))) if axis is None else (axis % len(x.shape),)
    return [Loop("first", given.name, given.out, (x,), (), axes)]


# -- functions of whole rows -----------------------------------------------------------------------


@lowers("fft", "ifft", "rfft", "irfft")
def transform(given: Given) -> list[Loop]:
    """A Fourier transform along one axis."""
    given.take_out()
    n, axis, norm = given.named("n", "axis", "norm")
    x, out = given.part(0), given.out
    axis = (-1 if axis is None else axis) % len(x.shape)
    size = (out if given.name == "irfft" else x).shape[axis]
    if n not in (None, size):
        raise Opaque(f"{given.name} with n")
    made = [Loop("call", given.name, out, (x,), (), (axis,))]
    power = {"forward": 1.0, "ortho": 0.5}.get(norm)
    if power is None:
        return made
    factor = size ** (power if given.name.startswith("i") else -power)
    return [*made, mapped(np.multiply, [out, factor], out)]


@lowers("argsort")
def sorting(given: Given) -> list[Loop]:
    """The places of elements in their order."""
    axis, kind = given.named("axis", "kind")
    if kind != "stable":
        raise Opaque("argsort that is not stable")
    x = given.part(0)
    axis = (-1 if axis is None else axis) % len(x.shape)
    return [Loop("call", "argsort", given.out, (x,), (), (axis,))]


@lowers("cumsum", "cumprod")
@lowers("accumulate", table=OF_UFUNCS)
def accumulated(given: Given) -> list[Loop]:
    """`ufunc.accumulate`: what there is so far, along an axis."""
    given.take_out()
    names = {"cumsum": "add", "cumprod": "multiply"}
    name = names.get(given.name) or given.function.__self__.__name__
    axis, dtype = given.named("axis", "dtype")
    x, out = given.part(0), given.out
    if len(x.shape) != len(out.shape) or dtype not in (None, out.dtype):
        raise Opaque(f"{given.name} of what is flattened, or to another dtype")
    return [Loop("call", name, out, (x,), (), ((axis or 0) % len(x.shape),))]


# -- products ------------------------------------------------------------------------------------


def lengthened(part: Part, place: int) -> Part:
    """A part with one more dimension, of size 1."""
    shape, strides = list(part.shape), list(part.strides)
    shape.insert(place, 1)
    strides.insert(place, 0)
    return part._replace(shape=tuple(shape), strides=tuple(strides))


@lowers("dot", "matmul", "vdot", "inner")
def products(given: Given) -> list[Loop]:
    """Products of matrices, or stacks of them; of vectors, conjugated by `vdot`."""
    given.take_out()
    if given.options or (given.name in ("vdot", "inner", "dot") and max(
        a.ndim for a in given.reads
    ) > (2 if given.name == "dot" else 1)):  # fmt: skip
        raise Opaque(f"{given.name} of more dimensions")
    x, y, out = given.part(0), given.part(1), given.out
    if not (x.shape and y.shape):
        raise Opaque("a product of numbers")
    if len(x.shape) == 1:
        x = x._replace(shape=(1, *x.shape), strides=(0, *x.strides))
        out = lengthened(out, len(out.shape) - (len(y.shape) > 1))
    if len(y.shape) == 1:
        y = y._replace(shape=(*y.shape, 1), strides=(*y.strides, 0))
        out = lengthened(out, len(out.shape))
    if not (x.dtype == y.dtype == out.dtype) or x.dtype.char not in FLOATS:
        raise Opaque("a product of these dtypes")
    name = "vdot" if given.name == "vdot" and x.dtype.kind == "c" else "matmul"
    return [Loop("matmul", name, out, (x, y))]


def broadcast(part: Any, shape: Any) -> tuple[int, ...]:
    """The strides of a part, broadcast to a shape."""
    if isinstance(part, Number):
        return (0,) * len(shape)
    missing = len(shape) - len(part.shape)
    own = [s if n > 1 else 0 for s, n in zip(part.strides, part.shape, strict=True)]
    return (0,) * missing + tuple(own)
