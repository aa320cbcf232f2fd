"""`python -m retrograd.compiler warm`: build the kernels of all ops, which are then on disk.

With `float32` or other dtypes behind it, for these; for float32 and float64 else. It takes about
a minute; a program then builds no more than the kernels that take numbers or mixed dtypes.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..quiet import calm
from . import cache, door

USAGE = "python -m retrograd.compiler warm [float32] [float64] [complex64] [complex128]"
SIZE = 64


def calls(dtypes: list[Any]) -> Iterator[tuple[Any, list[Any], dict[str, Any]]]:
    """Every forward and formula that may have a kernel, on small arrays, with its parameters."""
    namespaces = importlib.import_module("retrograd.engine.namespaces")
    importlib.import_module("retrograd.nn")  # by name, for they stand above
    ops = importlib.import_module("retrograd.engine.registry").OPS
    for op in [op for op in ops.values() if op.elementwise and op.examples]:
        example = op.examples[0]
        for dtype in dtypes:
            if dtype.kind == "c" and not op.complex:
                continue
            inputs = [operand(spec, dtype) for spec in example.specs]
            yield op.forward, inputs, example.params
            out = np.asarray(op.forward(*inputs, **example.params))
            named = {**example.params, **dict(zip(op.inputs, inputs, strict=True)), "out": out}
            for name, formula in zip(op.vjps, op.formulas, strict=True):
                xp = namespaces.reals if dtype.kind == "f" else namespaces.arrays
                yield formula, [xp, out, *[named[need] for need in op.needs[name]]], {}


def operand(spec: str, dtype: Any) -> Any:
    """An array for an input, as the spec of an example says."""
    kind = spec.partition(":")[2]
    if spec == "none":
        return None
    return np.ones(SIZE, bool if kind == "bool" else np.int64 if kind.startswith("int") else dtype)


def warm(dtypes: list[Any]) -> int:
    """Build the kernels for these dtypes; how many calls there were."""
    count = 0
    before = door.change(least=0)
    try:
        for function, inputs, params in calls(dtypes):
            count += 1
            try:
                calm(function, *inputs, **params)
            except (NotImplementedError, ImportError, TypeError):
                continue  # an op that is not for the dtype, or not without SciPy
    finally:
        door.change(**before)
    return count


if __name__ == "__main__":
    command, *names = sys.argv[1:] or [""]
    if command != "warm":
        sys.exit(f"usage: {USAGE}")
    if not door.AVAILABLE:
        sys.exit("kernels need llvmlite: pip install retrograd[fast]")
    done = warm([np.dtype(name) for name in names or ["float32", "float64"]])
    sys.stdout.write(f"kernels of {done} forwards and formulas are in {cache.home()}\n")
