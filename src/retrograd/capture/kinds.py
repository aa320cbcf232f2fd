"""What kinds of objects and functions a recording knows: tables of them, and questions about one.

`watch` decides by these what a replay may read or call again, and what ends a recording.
"""

from __future__ import annotations

import contextlib
import enum
import numbers
import operator
import sys
import types
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes, modes
from ..autograd import grad_mode
from ..engine.placement import Size
from ..engine.tensor import Tensor
from ..nn.modules.module import Module
from .asked import KINDS, Asked, holds
from .rewriting import PACKAGE
from .traced import TracedArray

if TYPE_CHECKING:
    from collections.abc import Iterator

TRUSTED = {PACKAGE, "numpy"}  # beside Python's own

PURE = {
    abs, all, any, bool, callable, complex, dict, divmod, enumerate, filter, float, frozenset, int,
    isinstance, issubclass, iter, len, list, map, max, min, next, pow, range, reversed, round, set,
    slice, sorted, str, sum, tuple, type, zip, operator.index, partial,
}  # fmt: skip
PURE_MODULES = {"math", "cmath", "itertools"}
OF_NUMBERS = (abs, bool, complex, float, format, int, len, max, min, pow, repr, round, str, sum)
HOLDING = (dict, len, list, tuple, zip, enumerate, reversed, iter, next)
THROUGH = (list, tuple, set, sorted, sum, min, max, all, any, enumerate, zip, map, filter, iter)
BY_METHODS = (dict, reversed)  # functions that ask an object for other methods than `__iter__`
LAZY = (types.GeneratorType, map, filter, zip)  # what gives its elements when they are asked for
GIVEN = (map, filter, sorted, max, min, iter)  # functions that call what they are given
EAGER = (list, max, min, sorted, sum, tuple)  # functions that ask for all of them
OF_CLASSES = (callable, isinstance, issubclass, type)
ADDING = {"append", "extend", "insert", "setdefault", "update", "get", "pop", "copy"}
BUILT_IN: Any = (
    *(str, bytes, int, float, complex, bool, tuple, range, list, dict, set, frozenset, slice, Size),
    *(type({}.keys()), type({}.values()), type({}.items())),
)
MUTABLE = (list, dict, set, bytearray)
READING = {
    *("copy", "count", "get", "index", "isdisjoint", "issubset", "issuperset", "items", "keys"),
    *("union", "values", "difference", "intersection", "__getitem__", "__len__", "__contains__"),
}
ITERABLE: Any = (
    *(list, tuple, dict, set, frozenset, range, str, enumerate, zip, map, filter, reversed, Size),
    *(type({}.keys()), type({}.values()), type({}.items()), types.GeneratorType, Tensor),
    *(type(iter([])), type(iter(())), type(iter({})), type(iter(range(0))), type(iter(set()))),
    *(type(iter({}.values())), type(iter({}.items()))),
)
CONSTANT = (type, enum.Enum, numbers.Number)  # what operators read of them stays
WITH_ATTRIBUTES = (types.ModuleType, type, types.FunctionType, types.MethodType)
OF_MEMORY = {"data_ptr", "is_shared", "storage", "untyped_storage", "storage_offset"}
OF_HISTORY = {"_base", "_version", "grad_fn", "is_leaf", "output_nr", "retains_grad"}
CONTEXTS = (grad_mode.no_grad, grad_mode.enable_grad, grad_mode.set_grad_enabled,
            contextlib.nullcontext)  # fmt: skip
FIXED = {"zeros", "ones", "full", "empty", "arange", "eye", "linspace", "logspace", "tensor",
         "as_tensor", "scalar_tensor", "zeros_like", "ones_like"}  # fmt: skip
OF_MODES = {"is_grad_enabled", "is_inference_mode_enabled", "is_compiling", "is_autocast_enabled",
            "is_autocast_cpu_enabled"}  # guarded for all # fmt: skip
PLAIN = (int, float, bool, str, complex, type(None), Size)
SIMPLE = (*PLAIN, dtypes.dtype)
DTYPES = {bool, int, float, complex, *[np.dtype(char).type for char in "?bBhHiIqQefdFD"]}
LISTS: Any = {"numpy": np.ndarray.view, "tolist": np.ndarray.tolist}
TEXTS = (ascii, format, repr, str)
AS_FROM = lambda function, /, *args, **options: function(*args, **options)  # noqa: E731
MATHEMATICS = {"math", "cmath"}
IN_PLACE = {"iadd", "isub", "imul", "imatmul", "itruediv", "ifloordiv", "imod", "ipow", "iand",
            "ior", "ixor", "ilshift", "irshift"}  # fmt: skip
WARNING = {"add", "sub", "mul", "truediv", "floordiv", "mod", "pow"}  # of NumPy's values
BESIDE = {"add", "sub", "mul", "truediv", "iadd", "isub", "imul", "itruediv",
          "lt", "le", "gt", "ge", "eq", "ne"}  # fmt: skip
TREE = {"parameters", "buffers", "modules", "children", "named_parameters", "named_buffers",
        "named_modules", "named_children"}  # fmt: skip


def name_of(function: Any) -> str:
    """The name of a function, or ''."""
    return str(getattr(function, "__name__", ""))


class Given:
    """What gives an iterator that the method of an object gave already."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def __iter__(self) -> Any:
        return self.found


def answers(kind: type) -> bool:
    """Whether code of the user's answers when a class does not have an attribute."""
    own = getattr(kind, "__getattr__", None)
    return own is not None and not is_ours(own)


def is_context(kind: type) -> bool:
    """Whether contexts of a class change nothing but how arithmetic is done within them."""
    return kind in CONTEXTS or "__enter__" in getattr(kind, "_in_compiled_steps", {})


def changeable(value: Any) -> Iterator[Any]:
    """The lists, dictionaries and sets in a tree, as often as they are there."""
    waiting, seen = [value], set[int]()
    for each in waiting:  # which grows
        if isinstance(each, MUTABLE):
            yield each
        if isinstance(each, (list, tuple, dict)) and id(each) not in seen:
            seen.add(id(each))
            waiting += each.values() if isinstance(each, dict) else each


def is_number(value: Any) -> bool:
    """Whether something is a tensor whose only element a replay can ask for."""
    traced = getattr(value, "_array", None)
    array: Any = traced.array if isinstance(traced, TracedArray) else None
    return array is not None and array.size == 1 and array.dtype.kind in "iufc"


def is_asked(tensor: Tensor, name: str, options: Any) -> bool:
    """Whether a replay can give the elements of a tensor as a list or an array."""
    traced: Any = tensor._array
    kinds = "iufc" if name == "tolist" else "biufc"
    hidden = tensor._node is not None and modes.state.records and not options.get("force")
    known = isinstance(traced, TracedArray) and traced.array.dtype.kind in kinds
    return known and not (hidden and name == "numpy")


def is_simple(value: Any, beside: Any = (), depth: int = 9) -> bool:
    """Whether something is of numbers, texts and arrays that were asked for; or `beside` them."""
    if type(value) in (list, tuple, dict):
        parts = [*value, *value.values()] if type(value) is dict else value
        return depth > 0 and all(is_simple(part, beside, depth - 1) for part in parts)
    if isinstance(value, np.generic) and not isinstance(value, Asked):
        return type(value).__module__ == "numpy"
    if type(value) is type:
        return value in DTYPES
    return type(value) in (*KINDS, *SIMPLE) or isinstance(value, (np.dtype, beside))


def is_read(value: Any) -> bool:
    """Whether something is of that, and of tensors whose text or value is asked for."""
    return holds(value, Tensor) and is_simple(value, Tensor)


def at(frame: Any) -> Any:
    """A function that calls one as from the line of a frame: logs and warnings name it."""
    code = AS_FROM.__code__.replace(
        co_filename=frame.f_code.co_filename, co_name=frame.f_code.co_name,
        co_firstlineno=frame.f_lineno,
    )  # fmt: skip
    return types.FunctionType(code, frame.f_globals)


def in_mode(grad: bool, function: Any, /, *args: Any, **options: Any) -> Any:
    """What a function gives in a grad mode."""
    with grad_mode.set_grad_enabled(grad):
        return function(*args, **options)


def is_watched(value: Any) -> bool:
    """Whether something can be called with no effect that is not seen, if it can be called."""
    if type(value) is types.FunctionType:
        return not is_ours(value)
    owner = type(getattr(value, "__self__", None))
    known = is_one(value, (*OF_NUMBERS, *HOLDING)) or is_of_module(value, MATHEMATICS)
    reads = owner is str or (owner in BUILT_IN and value.__name__ in READING)
    return known or reads or isinstance(value, operator.itemgetter) or not callable(value)


def is_one(value: Any, of: tuple[Any, ...]) -> bool:
    """Whether something is one of some objects; it may have no hash."""
    return id(value) in map(id, of)


def is_named(kind: Any) -> bool:
    """Whether something is a class of named tuples, which no code of a user's makes."""
    made_by = str(getattr(getattr(kind, "__new__", None), "__module__", ""))
    return made_by.startswith("namedtuple_") and kind.__init__ is object.__init__


def is_of_module(function: Any, modules: Any) -> bool:
    """Whether a function is of one of some modules."""
    return getattr(function, "__module__", None) in modules


def joined(*parts: Any) -> str:
    """A text of texts, and of values with a conversion and a format: what an f-string gives."""
    shown: Any = {-1: lambda v: v, ord("s"): str, ord("r"): repr, ord("a"): ascii}
    return "".join([p if isinstance(p, str) else format(shown[p[1]](p[0]), p[2]) for p in parts])


def is_compiled(function: Any, compiled: Any) -> bool:
    """Whether `compile` gave a function: one around it has its attributes, by `functools.wraps`."""
    if type(compiled).__module__ != f"{__package__}.compiled":
        return False
    return (
        isinstance(function, Module) or getattr(function, "__wrapped__", None) is compiled.function
    )


def is_trusted(top: str) -> bool:
    """Whether what a module of this name does is known: Python's own, NumPy's or this package's."""
    return top in TRUSTED or top in sys.stdlib_module_names or top.startswith("namedtuple_")


def is_ours(value: Any) -> bool:
    """Whether something is of this package."""
    name = getattr(value, "__module__", None)
    if isinstance(value, types.MethodType):
        value = value.__func__
    if isinstance(value, types.ModuleType):
        name = value.__name__
    elif isinstance(value, types.FunctionType):  # `functools.wraps` changes what it says itself
        name = value.__globals__.get("__name__")
    elif not isinstance(name, str):
        name = type(value).__module__
    top = str(name).partition(".")[0]
    return top in (PACKAGE, Tensor.__module__.partition(".")[0])  # "torch", where it has that name


def is_in_ours(frame: Any) -> bool:
    """Whether a frame runs code of this package."""
    return str(frame.f_globals.get("__name__")).partition(".")[0] == PACKAGE


def is_layers(function: Any) -> bool:
    """Whether a function of this package is one of layers, which read what they hold."""
    return str(function.__globals__.get("__name__")).startswith(f"{PACKAGE}.nn.modules")
