"""Functions that are not this package's and not rewritten, which a replay calls at their place.

NOTE [Foreign calls]
1. A replay calls such a function again, in order with prints and other effects, with the values of
   that call. What it gives is asked of it: NOTE [Asked values].
2. It must not change what the step reads. That is known of the functions here, where they are given
   numbers, texts, containers of these, and arrays that they only read. No other function is called
   by a replay; nor is one of these that runs code of the user's in its first call.
3. Those that only compute may run twice: a replay that is given up runs the step as it is.
"""

from __future__ import annotations

import csv
import gc
import inspect
import io
import json
import logging
import random
import time
import types
from typing import Any

import numpy as np

from .asked import holds
from .traced import METHODS as READING

__all__ = ["ARRAYS", "FILES", "LOGGERS", "METHODS", "is_file", "is_told", "way_of"]

FILES = io.IOBase
LOGGERS = {logging.Logger, logging.RootLogger}
LEVELS = {"debug", "info", "warning", "error", "critical", "log"}
CLOCKS = "time time_ns perf_counter perf_counter_ns monotonic monotonic_ns process_time strftime"
COMPUTE: Any = [json.dumps, *[getattr(time, name) for name in CLOCKS.split()]]
RANDOM = {"betavariate", "choice", "expovariate", "gauss", "getrandbits", "normalvariate",
          "randint", "random", "randrange", "seed", "triangular", "uniform"}  # fmt: skip
METHODS: Any = {  # of objects of these very classes; what they do
    type(csv.writer(io.StringIO())): {"writerow", "writerows"},
    csv.DictWriter: {"writeheader", "writerow", "writerows"},
    random.Random: RANDOM,
    np.random.RandomState: {"choice", "normal", "rand", "randint", "randn", "random", "seed",
                            "standard_normal", "uniform"},
    np.random.Generator: {"choice", "integers", "normal", "random", "standard_normal", "uniform"},
}  # fmt: skip
OF_FILES = {"flush", "getvalue", "tell", "write", "writelines"}
ARRAYS = {*READING, "item", "tobytes", "tolist"}  # methods that only read
NUMPY: Any = (np, np.linalg, np.fft)
WRITING = {"copyto", "fill_diagonal", "nan_to_num", "place", "put", "put_along_axis", "putmask",
           "save", "savetxt", "savez", "savez_compressed", "setbufsize"}  # fmt: skip
KINDS = (np.ufunc, type(np.mean), types.BuiltinFunctionType)


def is_told(function: Any) -> bool:
    """Whether a function prints or logs what it is given; a replay calls those in LOGGERS."""
    owner = getattr(function, "__self__", None)
    return function is print or (isinstance(owner, logging.Logger) and function.__name__ in LEVELS)


def is_file(value: Any) -> bool:
    """Whether something is a file with no code of the user's in it, in any layer."""
    while isinstance(value, FILES):
        if type(value) in (io.FileIO, io.BytesIO, io.StringIO):
            return True
        try:
            value = getattr(value, "buffer", None) or getattr(value, "raw", None)
        except ValueError:  # it is detached
            return False
    return False


def way_of(function: Any, args: Any = (), options: Any = types.MappingProxyType({})) -> str:
    """What a function does that a replay may call: "compute", "do", or "" for any other."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if any(function is each for each in COMPUTE):
        return "compute"
    if function is time.sleep:
        return "do"
    if name in METHODS.get(type(owner), ()):
        own = getattr(function, "__func__", None) in (None, getattr(type(owner), name))
        own = own and (name != "choice" or is_of_one_class(*args))
        draws = type(owner).__module__.startswith("numpy")
        filled = draws and holds((args, options), np.ndarray)  # maybe: `out`
        return "do" if own and is_plain(owner) and not filled else ""
    if isinstance(owner, FILES) and name in OF_FILES:
        return "do" if isinstance(function, types.BuiltinMethodType) and is_file(owner) else ""
    known = type(function) in KINDS or (
        isinstance(function, type) and issubclass(function, np.generic)
    )
    if not known or name in WRITING or not any(vars(m).get(name) is function for m in NUMPY):
        return ""
    return "compute" if is_reading(function, args, options) else ""


def is_of_one_class(choices: Any = None, *_: Any) -> bool:
    """Whether `choice` gives numbers or texts of one class, whichever it takes."""
    listed = type(choices) in (list, tuple, str)
    kinds = set(map(type, choices)) if listed else {type(choices)}
    return len(kinds) == 1 and kinds <= {complex, float, int, str}


def is_plain(owner: Any) -> bool:
    """Whether an object writes to plain files, if at all."""
    if isinstance(owner, csv.DictWriter):
        owner = owner.writer
    held = [getattr(v, "__self__", None) for v in gc.get_referents(owner)]
    return type(owner).__module__ != "_csv" or any(map(is_file, held))


def is_reading(function: Any, args: Any, options: Any) -> bool:
    """Whether a function of NumPy's writes to none of what it is given."""
    if isinstance(function, np.ufunc):
        return "out" not in options and len(args) <= function.nin
    try:
        given = inspect.signature(function).bind(*args, **options).arguments
    except ValueError:  # it has none
        given = options
    except TypeError:  # it will say so itself
        return False
    return given.get("out") is None
