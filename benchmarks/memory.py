"""How much memory a training step takes at most, beside PyTorch: processes of their own.

    TORCH_PYTHON=/path/to/python python benchmarks/memory.py    # both libraries
    python benchmarks/memory.py                                 # our own figures alone
    python benchmarks/memory.py --quick                         # only to see that it works

The programs are the models of `workloads.py`. Each runs a few steps in a fresh process, which tells
its largest resident size, less that of the library itself: of a process that has run a step of some
tiny models, and so has read the code that steps need.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import workloads
from performance import CORES

STEPS = 5
FIRST = ("MLP", "transformer", "conv net")  # the beginnings of the names of those that come first
TINY = 0.001
ASKED = 1.1  # of PyTorch's
MIB = 2**20 if sys.platform == "darwin" else 2**10  # in units of `ru_maxrss`


def largest():
    """The largest resident size of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB


def serve(name, number, size):
    """Print what a workload takes beyond the library itself."""
    if name == "torch":
        import torch as lib

        lib.set_num_threads(CORES)
    else:
        import retrograd as lib
    for workload in workloads.WORKLOADS:
        if workload.name.startswith(FIRST):
            workload.make(lib, TINY)()
    before = largest()
    run = workloads.WORKLOADS[number].make(lib, size)
    for _ in range(STEPS):
        run()
    print(largest() - before)


def taken(python, name, number, size):
    """The MiB of a workload in a process of its own."""
    command = [python, os.path.abspath(__file__), "--serve", name, str(number), str(size)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def main(size):
    """Print a row for each model."""
    torch_python = os.environ.get("TORCH_PYTHON")
    print("| workload | MiB | PyTorch's | ratio |\n|---|---|---|---|")
    for number, workload in enumerate(workloads.WORKLOADS):
        if workload.group != "models":
            continue
        ours = taken(sys.executable, "retrograd", number, size)
        cells = [workload.name, f"{ours:.1f}", "", ""]
        if torch_python:
            theirs = taken(torch_python, "torch", number, size)
            over = " (over)" if ours > ASKED * theirs else ""
            cells[2:] = f"{theirs:.1f}", f"{ours / theirs:.2f}{over}"
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
    else:
        main(0.01 if "--quick" in sys.argv[1:] else 1.0)
