"""Runs programs that `retrograd.aot` saved: this one file needs NumPy, and nothing of Retrograd.

NOTE [Saved programs]
1. A file is one of the format safetensors: tensors by name, and under `__metadata__` a text, the
   program in JSON. docs/aot.md describes it; another VERSION is refused.
2. A program is memory of fixed sizes, parts of it, each with a place, a dtype, a shape and strides,
   and calls in order: each writes one part by a function that is listed here, of parts.
3. Everything is checked before memory is taken or a call is made: every part lies within its memory
   and every call fits its parts. So a file that is cut, altered or hostile is refused by a
   ProgramError, or computes with numbers within its own memory; nothing of it is run as Python.
4. A run that raises leaves the state as it was.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import numpy as np

__all__ = ["Program", "ProgramError", "load"]

VERSION = 1
KEY = "retrograd.program"  # in the metadata
LARGEST = 1 << 48  # of any number in a program
DTYPES = {
    name: np.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
}
MATHS = {"erf": math.erf, "erfc": math.erfc}
FOURIER = {name: getattr(np.fft, name) for name in ("fft", "ifft", "rfft", "irfft")}
ACCUMULATE = ("add", "multiply", "maximum", "minimum", "logaddexp")
UFUNCS = {
    name: getattr(np, name)
    for name in (
        *("absolute", "add", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2"),
        *("arctanh", "bitwise_and", "bitwise_or", "bitwise_xor", "cbrt", "ceil", "conjugate"),
        *("copysign", "cos", "cosh", "deg2rad", "divide", "equal", "exp", "exp2", "expm1", "fabs"),
        *("float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "gcd", "greater"),
        *("greater_equal", "heaviside", "hypot", "invert", "isfinite", "isinf", "isnan", "lcm"),
        *("ldexp", "left_shift", "less", "less_equal", "log", "log10", "log1p", "log2"),
        *("logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor"),
        *("maximum", "minimum", "multiply", "negative", "nextafter", "not_equal", "positive"),
        *("power", "rad2deg", "reciprocal", "remainder", "right_shift", "rint", "sign", "signbit"),
        *("sin", "sinh", "spacing", "sqrt", "square", "subtract", "tan", "tanh", "trunc"),
    )
}

Check = Callable[[str, Any, list[Any], list[Any], list[int]], Callable[[], Any]]


class ProgramError(ValueError):
    """A file is no program that can be run here, or a call of one is unlike what was saved."""


def refuse(why: str) -> NoReturn:
    """Raise ProgramError for a file."""
    raise ProgramError(f"this is no program that can be run: {why}. Save it anew: retrograd.aot")


def require(condition: Any, why: str) -> None:
    """Raise ProgramError unless something holds."""
    if not condition:
        refuse(why)


# -- what is in a file -----------------------------------------------------------------------------


def parsed(text: str | bytes) -> dict[str, Any]:
    """A dictionary in JSON, of which every number is an integer and every name stands once."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        require(len(dict(found)) == len(found), "a name stands twice")
        return dict(found)

    def number(text: str) -> NoReturn:
        refuse(f"{text} is no integer")

    try:
        found = json.loads(text, object_pairs_hook=pairs, parse_float=number, parse_constant=number)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ProgramError(f"this is no program: {error}") from error
    require(type(found) is dict, "it has no names")
    return found  # type: ignore[no-any-return]


def listed(value: Any, length: int | None = None) -> list[Any]:
    """A list, of `length` values where that is given; else raise ProgramError."""
    require(
        type(value) is list and length in (None, len(value)), f"no list of {length or 'any'} values"
    )
    return value  # type: ignore[no-any-return]


def integers(value: Any, low: int = 0, length: int | None = None) -> list[int]:
    """A list of integers from `low` on."""
    good = all(type(n) is int and low <= n < LARGEST for n in listed(value, length))
    require(good, f"{str(value)[:80]} are not integers from {low} on")
    return value  # type: ignore[no-any-return]


def dtype_of(name: Any) -> np.dtype[Any]:
    """A dtype by its name."""
    require(type(name) is str and name in DTYPES, f"no dtype {str(name)[:80]}")
    return DTYPES[name]


def contents(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The program in a file, and the bytes of its tensors by name."""
    size = int.from_bytes(data[:8], "little")
    require(8 + size <= len(data), "it was cut")
    header, block = parsed(data[8 : 8 + size]), np.frombuffer(data, np.uint8)[8 + size :]
    texts = header.pop("__metadata__", None)
    require(type(texts) is dict and type(texts.get(KEY)) is str, "it has no program")
    for name, entry in header.items():
        require(type(entry) is dict, f"{name!r} is no tensor")
        header[name] = integers(entry.get("data_offsets"), length=2)
    end = 0
    for start, stop in sorted(header.values()):
        require(start == end < stop, "tensors do not follow each other")
        end = stop
    require(end == len(block), "it was cut, or there is more behind it")
    program = parsed(texts[KEY])
    require(program.get("version") == VERSION, f"its version is not {VERSION}, that of this reader")
    return program, {name: block[start:stop] for name, (start, stop) in header.items()}


def tree(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """What stands for containers: {"tuple": [...]}, {"list": [...]}, {"dict": {...}}, or null."""
    if value is None:
        return None
    require(type(value) is dict and len(value) == 1, "no container")
    ((kind, inside),) = value.items()
    if kind == "array":
        return leaf(inside)
    if kind == "dict":
        require(type(inside) is dict, "no container")
        return {key: tree(v, leaf) for key, v in inside.items()}
    require(kind in ("list", "tuple"), "no container")
    made = [tree(v, leaf) for v in listed(inside)]
    return made if kind == "list" else tuple(made)


# -- calls: each function checks one kind, and gives what runs it --------------------------------


def casts(given: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Whether numbers are cast without loss of an imaginary part."""
    return given.kind != "c" or wanted.kind in "cb"


def has_loop(name: str, dtypes: list[Any]) -> bool:
    """Whether a ufunc takes, and gives, these dtypes."""
    *given, made = [dtype.char for dtype in dtypes]
    return f"{''.join(given)}->{made}" in UFUNCS[name].types


def map_(name: str, out: Any, operands: list[Any], dtypes: list[Any], axes: Any) -> Any:
    """A function of elements; operands are cast to `dtypes`, of which the last is the result's."""
    require(np.broadcast_shapes(out.shape, *[x.shape for x in operands]) == out.shape, "shapes")
    dtypes = [*map(dtype_of, dtypes)]
    require(len(dtypes) == len(operands) + 1, "dtypes")
    pairs = zip([*operands, out], dtypes, strict=True)
    require(all(casts(x.dtype, dtype) for x, dtype in pairs), "a complex number becomes a real one")
    if name in ("copy", "select"):
        require(len(operands) == (1 if name == "copy" else 3), "operands")
        require(all(casts(x.dtype, out.dtype) for x in operands[-2:]), "a copy of complex numbers")
        if name == "copy":
            return partial(np.copyto, out, operands[0], casting="unsafe")
        return lambda: np.copyto(out, np.where(*operands), casting="unsafe")
    if name in MATHS:
        require(len(operands) == 1 and dtypes[0].kind == "f", "operands")
        by_number, (x,) = np.frompyfunc(MATHS[name], 1, 1), operands
        return lambda: np.copyto(out, by_number(x).astype(out.dtype))
    require(has_loop(name, dtypes), f"no function {name} of {dtypes}")
    return partial(UFUNCS[name], *operands, out=out, signature=tuple(dtypes), casting="unsafe")


def reduce(name: str, out: Any, operands: list[Any], dtypes: Any, axes: list[int]) -> Any:
    """A sum, a product, a largest or a smallest element, along axes."""
    (x,) = listed(operands, 1)
    require(has_loop(name, [out.dtype] * 3), f"no reduction by {name}")
    require(casts(x.dtype, out.dtype) and without(x.shape, axes) == out.shape, "shapes")
    return partial(UFUNCS[name].reduce, x, axis=tuple(axes), dtype=out.dtype, out=out)


def first(name: str, out: Any, operands: list[Any], dtypes: Any, axes: list[int]) -> Any:
    """The first place of the largest or smallest element: along one axis, or of all."""
    (x,) = listed(operands, 1)
    require(len(axes) in (1, x.ndim), "axes")
    require(without(x.shape, axes) == out.shape and out.dtype == np.intp, "shapes")
    find, axis = getattr(np, name), axes[0] if len(axes) == 1 else None
    return lambda: np.copyto(out, find(x, axis))


def matmul(name: str, out: Any, operands: list[Any], dtypes: Any, axes: Any) -> Any:
    """A product of matrices, or stacks of them; `vdot` conjugates the first."""
    x, y = listed(operands, 2)
    require(x.ndim > 1 and y.ndim > 1 and x.dtype == y.dtype == out.dtype, "dtypes")
    stacks = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    require(x.shape[-1] == y.shape[-2], "shapes")
    require(
        (*stacks, x.shape[-2], y.shape[-1]) == out.shape and x.dtype.kind in ("f", "c"), "shapes"
    )
    if name == "vdot":
        return lambda: np.matmul(np.conjugate(x), y, out=out)
    return partial(np.matmul, x, y, out=out)


def gather(name: str, out: Any, operands: list[Any], dtypes: Any, axes: list[int]) -> Any:
    """Elements by indices, which stand for axes of what they are taken of."""
    x, *indices = operands
    key = key_of(x, out, indices, axes)
    require(casts(x.dtype, out.dtype), "dtypes")
    return lambda: np.copyto(out, x[key], casting="unsafe")


def scatter(name: str, out: Any, operands: list[Any], dtypes: Any, axes: list[int]) -> Any:
    """Elements written by indices, or combined one by one with what stands there."""
    value, *indices = operands
    key = key_of(out, value, indices, axes)
    require(value.dtype == out.dtype, "dtypes")
    if name == "copy":
        return partial(out.__setitem__, key, value)
    require(has_loop(name, [out.dtype] * 3), "dtypes")
    return partial(UFUNCS[name].at, out, key, value)


def key_of(x: Any, part: Any, indices: list[Any], axes: list[int]) -> Any:
    """The key by which indices name elements of `x`, as many as `part` has."""
    rest, shape = without(x.shape, axes), indices[0].shape if indices else ()
    require(indices and len(indices) == len(axes), "indices")
    require(all(i.shape == shape and i.dtype.kind in "iu" for i in indices), "indices")
    start = axes[0] if axes[-1] - axes[0] == len(axes) - 1 else 0
    require((*rest[:start], *shape, *rest[start:]) == part.shape, "shapes")
    key: list[Any] = [slice(None)] * x.ndim
    for axis, index in zip(axes, indices, strict=True):
        key[axis] = index
    return tuple(key)


def call(name: str, out: Any, operands: list[Any], dtypes: Any, axes: list[int]) -> Any:
    """A function of whole rows, along an axis."""
    (axis,), (x,) = axes, operands
    require(without(x.shape, axes) == without(out.shape, axes), "shapes")
    n, made = x.shape[axis], out.shape[axis]
    require({"rfft": n // 2 + 1 == made, "irfft": made // 2 + 1 == n}.get(name, n == made), "n")
    if name in FOURIER:
        require((out.dtype.kind == "c") is (name != "irfft"), "dtypes")
        require(name != "rfft" or x.dtype.kind != "c", "dtypes")
        size = made if name == "irfft" else n
        return lambda: np.copyto(out, FOURIER[name](x, size, axis), casting="unsafe")
    if name == "argsort":
        require(out.dtype == np.intp, "dtypes")
        return lambda: np.copyto(out, x.argsort(axis, "stable"))
    require(has_loop(name, [out.dtype] * 3) and casts(x.dtype, out.dtype), "dtypes")
    return partial(UFUNCS[name].accumulate, x, axis, out.dtype, out)


def check(name: str, out: Any, operands: list[Any], dtypes: Any, axes: Any) -> Any:
    """A branch that the program took when it was saved, and has to take again."""
    require(out.size == 1, "no truth")

    def agree() -> None:
        if bool(out.item()) is not (name == "true"):
            raise ProgramError(
                "a value leads to another branch than when the program was saved, such as an index "
                "that is out of range: save a program for such arguments"
            )

    return agree


def without(shape: tuple[int, ...], axes: list[int]) -> tuple[int, ...]:
    """A shape without axes, which are there and in order."""
    require(axes == sorted({*axes}) and all(a < len(shape) for a in axes), "axes")
    return tuple([n for axis, n in enumerate(shape) if axis not in axes])


KINDS: dict[str, tuple[Check, set[str]]] = {  # what checks a call, and its functions
    "map": (map_, {"copy", "select", *UFUNCS, *MATHS}),
    "reduce": (reduce, {"add", "maximum", "minimum", "multiply", "logical_and", "logical_or"}),
    "first": (first, {"argmax", "argmin"}),
    "matmul": (matmul, {"matmul", "vdot"}),
    "gather": (gather, {"copy"}),
    "scatter": (scatter, {"copy", "add", "subtract", "multiply", "divide", "maximum", "minimum"}),
    "call": (call, {"argsort", *ACCUMULATE, *FOURIER}),
    "check": (check, {"true", "false"}),
}


# -- programs --------------------------------------------------------------------------------------


class Program:
    """A program from the bytes of a file; a call runs it, and its state stays for the next one.

    It takes arrays in the tuples, lists and dictionaries that the saved function took, and gives
    new arrays in those that it gave. Raises ProgramError for arguments of other shapes or dtypes,
    and where a value leads to another branch. Threads run it one after the other.
    """

    def __init__(self, data: bytes, memory: int = 1 << 30) -> None:
        self._lock, self._most = threading.Lock(), memory
        self._inputs: list[Any] = []
        try:
            program, tensors = contents(data)
            self._enter(program, tensors)
        except (RecursionError, ValueError, KeyError, TypeError) as error:
            if isinstance(error, ProgramError):
                raise
            refuse(f"{type(error).__name__}: {error}")

    def _enter(self, program: dict[str, Any], tensors: dict[str, Any]) -> None:
        """Check a program, and take the memory that it needs."""
        kept = program["state"]
        require(type(kept) is dict and kept.keys() <= tensors.keys(), "state that is not there")
        self._taken(*integers([program["arena"]]))
        self._arguments = tree(program["inputs"], self._input)
        storages: dict[Any, Any] = {**tensors, **dict(enumerate(map(self._bytes, self._inputs)))}
        storages |= {name: tensors[name].copy() for name in kept}  # what may be written
        storages[None] = np.zeros(program["arena"], np.uint8)
        self._parts = [self._part(entry, storages) for entry in listed(program["parts"])]
        self._calls = [self._call(*listed(call, 6)) for call in listed(program["calls"])]
        self._results = tree(program["results"], self._at)
        self._state = {name: self._at(place) for name, place in kept.items()}
        written = {program["parts"][call[2]][0] for call in program["calls"]}
        self._written = [storages[name] for name in kept if name in written]

    def _taken(self, size: int) -> None:
        self._most -= size
        require(self._most >= 0, "it takes more memory than `memory`, an argument, allows")

    def _input(self, entry: Any) -> int:
        """Make room for an argument; its number."""
        dtype, shape = dtype_of(listed(entry, 2)[0]), integers(entry[1], 1)
        self._taken(math.prod(shape) * dtype.itemsize)
        self._inputs.append(np.zeros(shape, dtype))
        return len(self._inputs) - 1

    def _bytes(self, array: Any) -> Any:
        return array.reshape(-1).view(np.uint8)

    def _part(self, entry: Any, storages: dict[Any, Any]) -> Any:
        """A part of memory: within it in every dimension."""
        storage, offset, name, shape, strides = listed(entry, 5)
        require(type(storage) in (int, str, type(None)), "no memory")
        require(storage in storages, f"no memory {str(storage)[:80]!r}")
        whole, dtype = storages[storage], dtype_of(name)
        integers(shape, 1)
        integers(strides, -LARGEST, len(shape))
        steps = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
        (low,) = integers([offset])
        high = low + sum([max(0, s) for s in steps]) + dtype.itemsize
        low += sum([min(0, s) for s in steps])
        size = math.prod(shape) * dtype.itemsize
        require(low >= 0 and high <= len(whole) and len(shape) <= 32, "a part outside of memory")
        require(size <= max(self._most, len(whole)), "a part larger than `memory` allows")
        return np.ndarray(shape, dtype, whole, offset, strides)

    def _at(self, place: Any) -> Any:
        """The part of the program that has this number."""
        require(type(place) is int and 0 <= place < len(self._parts), "no such part")
        return self._parts[place]

    def _call(self, kind: Any, name: Any, out: Any, operands: Any, dtypes: Any, axes: Any) -> Any:
        """The function that carries out one call of a program."""
        require(type(kind) is str and kind in KINDS and type(name) is str, "no such call")
        make, names = KINDS[kind]
        require(name in names, f"{kind} of {name[:80]}")
        target, parts = self._at(out), [self._at(place) for place in listed(operands)]
        require(kind == "check" or target.flags.writeable, "a constant is written")
        return make(name, target, parts, listed(dtypes), integers(axes))

    @property
    def state(self) -> dict[str, Any]:
        """Copies of parameters, buffers and states of optimizers, by name, as the last run left
        them."""
        with self._lock:
            return {name: part.copy() for name, part in self._state.items()}

    def __call__(self, *args: Any) -> Any:
        """Run the program."""
        with self._lock, np.errstate(all="ignore"):
            self._take(self._arguments, args, "the arguments")
            before = [array.copy() for array in self._written]
            try:
                for call in self._calls:
                    call()
            except BaseException as error:
                for array, old in zip(self._written, before, strict=True):
                    array[...] = old
                if isinstance(error, IndexError):
                    raise ProgramError(f"an index is out of range: {error}") from error
                raise
            return copies(self._results)

    def _take(self, wanted: Any, given: Any, where: str) -> None:
        """Copy arguments to where the program reads them."""
        if isinstance(wanted, int):
            room, array = self._inputs[wanted], np.asarray(given)
            if array.dtype != room.dtype or array.shape != room.shape:
                raise ProgramError(
                    f"expected {room.dtype} of shape {room.shape} as {where}, but got "
                    f"{array.dtype} of shape {array.shape}"
                )
            np.copyto(room, array)
            return
        same = type(given) is type(wanted) and (wanted is None or len(given) == len(wanted))
        if not same or (type(wanted) is dict and given.keys() != wanted.keys()):
            raise ProgramError(f"expected {wanted} as {where}, where numbers stand for arrays")
        for key in wanted if type(wanted) is dict else range(len(wanted or ())):
            self._take(wanted[key], given[key], f"{where}[{key!r}]")


def copies(results: Any) -> Any:
    """Results as arrays of their own."""
    if type(results) in (list, tuple):
        return type(results)([copies(v) for v in results])
    if type(results) is dict:
        return {key: copies(v) for key, v in results.items()}
    return None if results is None else results.copy()


def load(path: Any, memory: int = 1 << 30) -> Program:
    """The program in a file that `retrograd.aot` wrote, to be called with NumPy's arrays.

    It takes the file's size and, for what it computes, at most `memory` bytes, 1 GiB if none are
    named. Raises ProgramError, a ValueError, for any other file, and for one that needs more.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "double.aot")
    ...     rg.aot(lambda x: 2 * x, (rg.ones(2),), path)
    ...     rg.runtime.load(path)(np.ones(2, np.float32))
    array([2., 2.], dtype=float32)
    """
    with open(path, "rb") as file:
        return Program(file.read(), memory)
