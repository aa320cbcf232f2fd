"""Writes cupy.json: which of NumPy's functions and ufuncs CuPy has, and by which arguments.

With CuPy 14 installed, a GPU or none: `python make_cupy.py`. A function is stored under the name by
which CuPy's `__array_function__` looks for it; `None` stands for arguments that are not checked.
"""

import importlib
import inspect
import json
from pathlib import Path

import cupy
import numpy as np

MODULES = ["", ".linalg", ".fft", ".lib.stride_tricks"]
# What ufuncs' methods take, and which ufuncs have them: CuPy says so by raising alone.
CALL = ["out", "dtype", "casting"]
METHODS = {
    "reduce": (["add", "multiply"], ["axis", "dtype", "out", "keepdims"]),
    "accumulate": (["add", "multiply"], ["axis", "dtype", "out"]),
    "reduceat": (["add"], ["axis", "dtype", "out"]),
    "at": (
        ["add", "bitwise_and", "bitwise_or", "bitwise_xor", "maximum", "minimum", "subtract"],
        [],
    ),
}


def arguments(function):
    """The names of a function's arguments, None where it takes any or does not say."""
    if isinstance(function, cupy.ufunc):
        return None
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:
        return None
    kinds = {p.kind for p in parameters.values()}
    free = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} & kinds
    return None if free else list(parameters)


functions, ufuncs = {}, []
for name in MODULES:
    theirs, ours = (importlib.import_module(f"{top}{name}") for top in ("numpy", "cupy"))
    for each in sorted(set(dir(theirs)) & set(dir(ours))):
        numpy, cupys = getattr(theirs, each), getattr(ours, each)
        if isinstance(numpy, np.ufunc) and callable(cupys) and cupys is not numpy:
            ufuncs.append(each)
        elif inspect.isroutine(numpy) and callable(cupys) and cupys is not numpy:
            functions[f"{numpy.__module__}.{numpy.__name__}"] = arguments(cupys)
methods = [each for each in dir(cupy.ndarray) if not each.startswith("_")]
flags = [each for each in dir(cupy._core.flags.Flags) if not each.startswith("_")]
called = {"__call__": (ufuncs, CALL), "outer": (ufuncs, CALL)} | METHODS
found = {"functions": functions, "methods": called, "ndarray": methods, "flags": flags}
text = json.dumps(found, indent=None, sort_keys=True)
(Path(__file__).parent / "cupy.json").write_text(text + "\n")
