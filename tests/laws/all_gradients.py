"""Write the gradients of every op on its examples to a file: what `test_native.py` compares.

    python all_gradients.py FILE

Each op's output is used twice, so that cotangents are added up; leaves accumulate twice. Loops over
arrays are NumPy's, whose bits are not those of the loops in C.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np

import retrograd as rg
import retrograd.kernels.native
from retrograd import providers

providers.load_families()


def load_samples():
    """The module `samples`, beside this file."""
    spec = importlib.util.spec_from_file_location("samples", Path(__file__).with_name("samples.py"))
    module = sys.modules["samples"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.samples()


def main(file):
    loops = retrograd.kernels.native.loops
    if loops is not None:
        loops.leave_small_out(True)
    retrograd.kernels.native.loops = None
    found = {}
    for sample in load_samples():
        rg.manual_seed(0)
        tensors = sample.tensors()
        for _ in range(2):
            total = sum((out * (1.0 + out)).sum() for out in sample.call(tensors))
            total.backward(rg.ones_like(total), retain_graph=True)
        for i in sample.differentiable:
            found[f"{sample!r}-{i}"] = tensors[i].grad._array
    np.savez(file, **found)


if __name__ == "__main__":
    main(sys.argv[1])
