"""TracedArray arrays: NumPy's, behind NumPy's protocols, which note each call in a recording.

NOTE [TracedArray arrays]
1. A traced array has the values, shape and strides of a NumPy array, which it holds, and a place
   in the program that is recorded. What is computed of it by the protocols (NOTE [The seam] in
   `kernels.allocation`) is computed by NumPy on the arrays held, and noted.
2. Where Python asks for a value, a number or a plain array, it gets it, and the recording ends
   there (`Recording.stop`): no value of the first run gets into a program unseen. The truth of one
   is noted, and a replay in which it is another one ends there.
3. A traced array is gone after the recording: `Recording.settle` puts what it holds in its place.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..kernels.allocation import StandIn

__all__ = ["TracedArray", "held"]

METHODS = (
    *("all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "clip", "compress"),
    *("conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal", "dot", "flatten", "max"),
    *("mean", "min", "nonzero", "prod", "ravel", "repeat", "reshape", "round", "searchsorted"),
    *("squeeze", "std", "sum", "swapaxes", "take", "trace", "transpose", "var", "view"),
)
PARTS = ("T", "mT", "real", "imag")
FACTS = ("dtype", "flags", "itemsize", "nbytes", "ndim", "shape", "size", "strides")
VALUES = (
    *("__array__", "__complex__", "__float__", "__index__", "__int__", "__iter__"),
    *("byteswap", "choose", "ctypes", "data", "dump", "dumps", "fill", "flat", "item"),
    *("itemset", "partition", "put", "resize", "setfield", "sort", "tobytes", "tofile", "tolist"),
    *("__array_interface__", "__array_struct__", "__buffer__", "__dlpack__", "__contains__"),
)


class TracedArray(StandIn, NDArrayOperatorsMixin):
    """A NumPy array at a place in a recorded program: NOTE [TracedArray arrays]."""

    __slots__ = ("array", "recording", "slot")

    is_traced = True
    __hash__ = object.__hash__

    def __init__(self, array: np.ndarray, slot: int, recording: Any) -> None:
        self.array, self.slot, self.recording = array, slot, recording

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return self.recording.call(function, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function is np.asarray or function is np.array:  # with `like`
            return self.recording.table(args[0])
        return self.recording.call(function, args, options)

    def __getitem__(self, key: Any) -> Any:
        return self.recording.call(operator.getitem, (self, key), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        self.recording.call(operator.setitem, (self, key, value), {})

    def __pow__(self, other: Any) -> Any:
        return self.recording.call(operator.pow, (self, other), {})

    def __len__(self) -> int:
        return len(self.array)

    def __bool__(self) -> bool:
        return bool(self.recording.truth(self))

    @property
    def base(self) -> Any:
        """What it is a part of: something, if it is a part."""
        return self.array.base

    def __format__(self, spec: str) -> str:
        self.recording.stop("a value of a tensor is printed")
        return format(self.array, spec)

    def __repr__(self) -> str:
        return f"<traced {self.array.dtype}{list(self.array.shape)} at {self.slot}>"


def _fact(name: str) -> property:
    return property(lambda self: getattr(self.array, name))


def _part(name: str) -> property:
    read = operator.attrgetter(name)
    return property(lambda self: self.recording.call(read, (self,), {}))


def _method(name: str) -> Any:
    function = getattr(np.ndarray, name)
    return lambda self, *args, **options: self.recording.call(function, (self, *args), options)


def _value(name: str) -> property:
    return property(lambda self: self.recording.value(self, name))


for _names, _make in ((FACTS, _fact), (PARTS, _part), (METHODS, _method), (VALUES, _value)):
    for _name in _names:
        if _make is not _method or hasattr(np.ndarray, _name):
            setattr(TracedArray, _name, _make(_name))


def held(value: Any) -> Any:
    """`value` with NumPy's arrays in place of traced ones, in lists, tuples and dicts, too."""
    kind = value.__class__
    if kind is TracedArray:
        return value.array
    if kind is list or kind is tuple:
        return kind([held(v) for v in value])
    if kind is dict:
        return {key: held(v) for key, v in value.items()}
    return value
