"""How the cost of views and in-place writes grows with their number.

Prints seconds for n = 250, 500, ... 4000 views and writes in a row, for n views that live while
their base is written 50 times, and for n writes to the n rows of a tensor, each with its backward
pass: doubling n should about double each. With TORCH_PYTHON=path/to/python of an environment that
has PyTorch, prints its seconds as well.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time

SIZES = (250, 500, 1000, 2000, 4000)


def chain(rg, n):
    """n times a view of a view, and a write to it."""
    x = rg.ones(4, requires_grad=True)
    y = x * 1
    for _ in range(n):
        y = y.view(-1)
        y.add_(1)
    y.sum().backward()


def turns(rg, n):
    """The same, with views that differ from step to step."""
    x = rg.ones(2, 3, requires_grad=True)
    y = x * 1
    for _ in range(n):
        y = y.t()
        y.add_(1)
    y.sum().backward()


def living(rg, n):
    """n views that live while their base is written 50 times."""
    x = rg.ones(n, requires_grad=True)
    base = x * 1
    views = [base[i] for i in range(n)]
    for _ in range(50):
        base.mul_(1.01)
    sum(views[:50]).backward()


def rows(rg, n):
    """A write to each of n views that live."""
    x = rg.ones(n, requires_grad=True)
    base = x * 1
    views = [base[i] for i in range(n)]
    for view in views:
        view.mul_(2)
    base.sum().backward()


def main(name):
    rg = importlib.import_module(name)
    print(f"{name:24}" + "".join(f"{n:>9}" for n in SIZES))
    for program in (chain, turns, living, rows):
        print(f"{program.__name__:24}", end="")
        for n in SIZES:
            start = time.perf_counter()
            program(rg, n)
            print(f"{time.perf_counter() - start:9.4f}", end="", flush=True)
        print()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "retrograd")
    torch_python = os.environ.get("TORCH_PYTHON")
    if torch_python and len(sys.argv) == 1:
        subprocess.run([torch_python, __file__, "torch"], check=True)
