"""An array that is known by NumPy's protocols alone: it computes by NumPy and logs every call.

What runs on it runs on anything that speaks the protocols (NEP 13 and 18, and ndarray's methods): a
tracer, an array on another device. It refuses whatever would make a plain array or a Python number
of it, and writes other than by a ufunc's `out=`, `x[...] = v` and `np.copyto`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

__all__ = ["LOG", "Recorder", "Refused", "plain", "recorded"]

LOG: list[str] = []

FACTS = ["shape", "dtype", "ndim", "size", "strides", "flags", "itemsize", "nbytes", "base"]
PARTS = ["T", "mT", "real", "imag"]
METHODS = ["all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "clip",
           "compress", "conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal", "dot",
           "flatten", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "reshape",
           "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take", "trace",
           "transpose", "var", "view"]  # fmt: skip

CONVERSIONS = ["tolist", "item", "tobytes", "__float__", "__int__", "__complex__", "__index__",
               "__bool__", "__array__"]  # fmt: skip
WRITERS = ["fill", "put", "sort", "partition", "resize", "setfield", "byteswap"]
UNSEEN = {np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis}


class Refused(TypeError):
    """Code asked an array for what only NumPy's own arrays give."""


class Recorder(NDArrayOperatorsMixin):
    """A NumPy array behind NumPy's protocols."""

    __slots__ = ("_held",)

    def __init__(self, held: Any) -> None:
        self._held = held

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        LOG.append(f"{ufunc.__name__}.{method}")
        own(inputs, options)
        found = getattr(ufunc, method)(*plain(inputs), **plain(options))
        out = options.get("out")
        return recorded(found) if out is None else out[0] if len(out) == 1 else out

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        LOG.append(function.__name__)
        if function in UNSEEN:
            raise Refused(f"np.{function.__name__} writes: x[...] = v, np.copyto or out= instead")
        if function is not np.asarray:  # with `like=`
            own(args, options)
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


def recorded(value: Any) -> Any:
    """`value` with recorders in place of NumPy's arrays and scalars."""
    if isinstance(value, (np.ndarray, np.generic)):
        return Recorder(np.asarray(value))
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
