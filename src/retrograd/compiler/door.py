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
   one of many, and building takes a while.
4. All of it needs llvmlite; without, or with `RETROGRAD_COMPILE=0`, a function is what it was.
"""

from __future__ import annotations

import importlib
import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.native import loops

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["AVAILABLE", "opened", "set_least", "setting"]

AVAILABLE = os.environ.get("RETROGRAD_COMPILE") != "0" and find_spec("llvmlite") is not None

ndarray = np.ndarray


class Setting:
    """`least`: from how many elements on arrays are large. Below, NumPy is as fast."""

    least = 4096


setting = Setting()


def set_least(size: int) -> int:
    """Let arrays be large from `size` elements on; the number before. For tests and trials."""
    before, setting.least = setting.least, size
    if loops is not None:
        loops.set_door(size, new_kernel)
    return before


def new_kernel(function: Any, names: Any, operands: Any, writes: bool = False) -> Any:
    """What `kernels.kernel` makes; that, and llvmlite, is imported when it is first needed."""
    made = importlib.import_module(".kernels", __package__).kernel
    return made(function, names, operands, writes)


def opened(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, by kernels where an argument is a large array: NOTE [The door].

    `loops` of what it gives is the ufunc that the function is for small arrays, if it is one.
    """
    if not AVAILABLE:
        return function
    ufunc = getattr(function, "loops", function)
    if loops is not None:
        return loops.Door(function, ufunc)  # type: ignore[no-any-return]
    kernels: dict[Any, Any] = {}

    def call(*args: Any, **params: Any) -> Any:
        least = setting.least
        for x in args:
            if x.__class__ is ndarray and x.size >= least:
                found = by_kernel(function, kernels, args, params)
                if found is not None:
                    return found
                break
        return function(*args, **params)

    call.loops, call.kernels = ufunc, kernels  # type: ignore[attr-defined]
    return call


def by_kernel(function: Any, kernels: dict[Any, Any], args: Any, params: dict[str, Any]) -> Any:
    """What the function's kernel for such arguments gives; None where there is none."""
    operands = (*args, *params.values())
    try:
        key = (*map(known_of, operands), tuple(params))
        if key not in kernels:
            kernels[key] = new_kernel(function, tuple(params), operands)
    except TypeError:  # a parameter that is not hashable
        return None
    kernel = kernels[key]
    return None if kernel is None else kernel(operands)


def known_of(x: Any) -> Any:
    """What tells kernels apart: dtypes, whether there are dimensions, and values but of floats."""
    if x.__class__ is ndarray:
        return x.dtype.num, x.ndim > 0
    return float if x.__class__ is float else (x.__class__, x)


if AVAILABLE:
    set_least(setting.least)
