"""An array that is known by NumPy's protocols alone: it computes by NumPy and logs every call.

What runs on it runs on anything that speaks the protocols (NEP 13 and 18, and ndarray's methods): a
tracer, an array on another device. It refuses whatever would make a plain array or a Python number
of it, writes other than by a ufunc's `out=`, `x[...] = v` and `np.copyto`, and the functions,
arguments and flags that CuPy's arrays lack: `tests/data/cupy.json`.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

__all__ = ["CUPY", "LOG", "Recorder", "Refused", "plain", "recorded"]

CUPY = json.loads((Path(__file__).parents[1] / "data" / "cupy.json").read_text())
LOG: list[str] = []

FACTS = ["shape", "dtype", "ndim", "size", "strides", "itemsize", "nbytes"]
PARTS = ["T", "mT", "real", "imag", "base"]
METHODS = ["all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "clip",
           "compress", "conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal", "dot",
           "flatten", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "reshape",
           "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take", "trace",
           "transpose", "var", "view"]  # fmt: skip

CONVERSIONS = ["tolist", "item", "tobytes", "__float__", "__int__", "__complex__", "__index__",
               "__bool__", "__array__"]  # fmt: skip
WRITERS = ["fill", "put", "sort", "partition", "byteswap"]
UNSEEN = {np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis}


class Refused(TypeError):
    """Code asked an array for what only NumPy's own arrays give."""


class Flags:
    """What is known of how an array lies in memory."""

    __slots__ = tuple(CUPY["flags"])

    def __init__(self, held: Any) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(held.flags, name))


class Recorder(NDArrayOperatorsMixin):
    """A NumPy array behind NumPy's protocols."""

    __slots__ = ("_held",)

    def __init__(self, held: Any) -> None:
        self._held = held

    @property
    def flags(self) -> Flags:
        return Flags(self._held)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        LOG.append(f"{ufunc.__name__}.{method}")
        own(inputs, options)
        if getattr(np, ufunc.__name__, None) is ufunc:  # else it is SciPy's
            check_ufunc(ufunc.__name__, method, options)
        found = getattr(ufunc, method)(*plain(inputs), **plain(options))
        out = options.get("out")
        return recorded(found) if out is None else out[0] if len(out) == 1 else out

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        LOG.append(function.__name__)
        if function in UNSEEN:
            raise Refused(f"np.{function.__name__} writes: x[...] = v, np.copyto or out= instead")
        if function is not np.asarray:  # with `like=`
            own(args, options)
            check_call(f"{function.__module__}.{function.__name__}", args, options)
        if options.get("shape", 1) == ():
            del options["shape"]  # as CuPy does
        found = function(*plain(args), **plain(options))
        out = options.get("out")
        return recorded(found) if out is None else out

    def __pow__(self, other: Any) -> Any:
        LOG.append("pow")
        return recorded(self._held ** plain(other))  # by `power`, but for small integers

    def __getitem__(self, key: Any) -> Any:
        LOG.append("getitem")
        return recorded(self._held[plain(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        LOG.append("setitem")
        own(value)
        self._held[plain(key)] = plain(value)

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))


def plain(value: Any) -> Any:
    """`value` with NumPy's arrays in place of recorders, in lists, tuples and dicts, too."""
    if isinstance(value, Recorder):
        return value._held
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    return {key: plain(v) for key, v in value.items()} if type(value) is dict else value


def own(*values: Any) -> None:
    """Raise for NumPy's arrays, which are elsewhere; of no dimensions, they are numbers."""
    for value in values:
        if isinstance(value, np.ndarray) and value.ndim:
            raise Refused(f"a NumPy array of shape {value.shape} beside one that is not: table()")
        if type(value) in (list, tuple, dict):
            own(*(value.values() if type(value) is dict else value))


def check_call(name: str, args: Any, options: Any) -> None:
    """Raise for a function that CuPy lacks, and for an argument that its own does not take."""
    if name not in CUPY["functions"]:
        raise Refused(f"CuPy has no {name}")
    known = CUPY["functions"][name]
    if known is not None:
        unknown = options.keys() - set(known) | {"subok"} & options.keys()
        if unknown or len(args) > len(known):
            raise Refused(f"CuPy's {name} takes {known}, not {len(args)} and {sorted(options)}")


def check_ufunc(name: str, method: str, options: Any) -> None:
    """Raise for a ufunc that CuPy lacks, and for a method or an argument that its own lacks."""
    names, known = CUPY["methods"][method]
    if name not in names:
        raise Refused(f"CuPy has no {name}.{method}")
    if options.keys() - set(known) or len(options.get("out", ())) > 1:
        raise Refused(f"CuPy's {name}.{method} takes {known}, not {sorted(options)}")


def recorded(value: Any) -> Any:
    """`value` with recorders in place of NumPy's arrays and scalars."""
    if isinstance(value, (np.ndarray, np.generic)):
        made = np.asarray(value)
        with contextlib.suppress(ValueError):  # of windows, which nothing writes
            made.flags.writeable = True  # as all of CuPy's are
        return Recorder(made)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(recorded, value))
    return type(value)(map(recorded, value)) if type(value) in (list, tuple) else value


def _method(name: str) -> Any:
    def method(self: Recorder, *args: Any, **options: Any) -> Any:
        LOG.append(name)
        own(args, options)
        found = getattr(self._held, name)(*plain(args), **plain(options))
        return recorded(found) if options.get("out") is None else options["out"]

    return method


def _refusal(name: str, instead: str) -> Any:
    def refuse(self: Recorder, *args: Any, **options: Any) -> Any:
        raise Refused(f"{name} of an array that is not NumPy's: {instead}")

    return refuse


for _name in FACTS:
    setattr(Recorder, _name, property(lambda self, name=_name: getattr(self._held, name)))
for _name in PARTS:
    setattr(Recorder, _name, property(lambda self, name=_name: recorded(getattr(self._held, name))))
for _name in METHODS:
    setattr(Recorder, _name, _method(_name))
for _name in CONVERSIONS:
    setattr(Recorder, _name, _refusal(_name, "compute with NumPy's functions and methods instead"))
for _name in WRITERS:
    setattr(Recorder, _name, _refusal(_name, "write by x[...] = v, np.copyto or out= instead"))
