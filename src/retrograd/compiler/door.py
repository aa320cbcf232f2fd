"""The eager door: forwards and formulas, which run as kernels on large arrays.

NOTE [The door]
1. `opened(function)` is the function, for arrays below `setting.least` elements. Of a larger one it
   asks once, for each combination of dtypes, of arrays with dimensions and without, and of
   parameters, whether the recorder and the compiler take the function; then the kernel runs, but
   where its operands lie in memory in a way that it is not made for.
2. So whether a kernel computes depends on the operands alone, never on what was built before: the
   same call gives the same bits in every run.
3. A parameter that is a float is an operand of the kernel, so that another value needs no other
   one. A function that branches on it is recorded for its value, if that is a simple one: it may be
   one of many, and building takes a while. So is a whole number, up to `MOST`; a name or a flag is
   one of few. With other parameters, such as NumPy's numbers, there is no kernel, and none is kept.
4. All of it needs llvmlite, and a processor with fused multiply-adds, since the mathematics does;
   without, or with `RETROGRAD_COMPILE=0`, a function is what it was.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy._core._multiarray_umath import __cpu_features__

from ..kernels.native import loops
from ..locks import load

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["AVAILABLE", "Recent", "change", "opened", "setting"]

CPU = __cpu_features__  # of all kinds of processors: what those of other kinds have is false
HAS_FMA = CPU.get("FMA3", True) or not CPU.get("SSE2", True)  # which of all an x86 may lack
AVAILABLE = (
    os.environ.get("RETROGRAD_COMPILE") != "0" and HAS_FMA and find_spec("llvmlite") is not None
)

MOST = 256  # of whole numbers for which there are kernels
MOST_KERNELS = 1024  # that a function has at once: a parameter may take ever new values
ndarray = np.ndarray
FEW = {bool, str, type(None), ModuleType}  # what parameters and namespaces are


class Setting:
    """The least number of elements of large arrays, and the watcher who is told of calls."""

    least = 4096
    watcher: Any = None


class Recent(OrderedDict[Any, Any]):
    """The kernels used last; of too many, the one that rests for the longest time goes."""

    def get_or_make(self, key: Any, make: Callable[..., Any], *args: Any) -> Any:
        """What is kept under a key, which is `make(*args)` where there is nothing."""
        try:
            self.move_to_end(key)
            return self[key]
        except KeyError:
            self[key] = made = make(*args)
            if len(self) > MOST_KERNELS:
                self.popitem(last=False)
            return made


setting = Setting()
reducing: set[Any] = set()  # functions with sums and maxima


def change(**values: Any) -> dict[str, Any]:
    """Change the setting; return what it was. For tests, and for `explain`."""
    before = {name: getattr(setting, name) for name in values}
    for name, value in values.items():
        setattr(setting, name, value)
    if loops is not None:
        loops.set_door(setting.least, MOST, MOST_KERNELS, new_kernel, setting.watcher)
    return before


def new_kernel(function: Any, names: Any, operands: Any, writes: bool = False) -> Any:
    """A kernel of a function; what makes it, and llvmlite, is imported when it is first needed."""
    made = load(".kernels", __package__).kernel
    return made(function, names, operands, writes)


def opened(function: Callable[..., Any], name: str, rows: bool = False) -> Callable[..., Any]:
    """The function, by kernels where an argument is a large array: NOTE [The door].

    Of `rows` it may take sums and maxima along dimensions; others are elementwise. `loops` of what
    it gives is the ufunc that the function is for small arrays, if it is one.
    """
    if not AVAILABLE:
        return function
    if rows:
        reducing.add(function)
    ufunc = getattr(function, "loops", function)
    if loops is not None:
        return loops.Door(function, ufunc, name)
    kernels = Recent()

    def call(*args: Any, **params: Any) -> Any:
        found, least = None, setting.least
        for x in args:
            if x.__class__ is ndarray and x.size >= least:
                found = by_kernel(function, kernels, args, params)
                break
        if setting.watcher is not None:
            operands = (*args, *params.values())
            setting.watcher(call, operands, tuple(params), found is not None)
        return function(*args, **params) if found is None else found

    call.__wrapped__, call.__name__ = function, name  # type: ignore[attr-defined]
    call.loops, call.kernels = ufunc, kernels  # type: ignore[attr-defined]
    return call


def by_kernel(function: Any, kernels: Recent, args: Any, params: dict[str, Any]) -> Any:
    """What the function's kernel for such arguments gives; None where there is none."""
    operands = (*args, *params.values())
    try:
        key = (*map(known_of, operands), tuple(params))
    except TypeError:  # a parameter that is one of many
        return None
    kernel = kernels.get_or_make(key, new_kernel, function, tuple(params), operands)
    return None if kernel is None else kernel(operands)


def known_of(x: Any) -> Any:
    """What tells kernels apart: dtypes, whether there are dimensions, and values but of floats."""
    kind = x.__class__
    if kind is ndarray:
        return x.dtype.num, x.ndim > 0
    if issubclass(kind, tuple):  # sizes, as they come with arrays
        return tuple([each if each.__class__ is int else known_of(each) for each in x])
    if kind is float:
        return float
    if kind in FEW or (kind is int and abs(x) <= MOST):
        return kind, x
    raise TypeError(f"there are many {kind.__name__}")


if AVAILABLE:
    change()
