"""The workloads captured by `rg.compile`, beside themselves run eagerly, PyTorch, and JAX.

    python benchmarks/compiled.py                                   # eager and captured
    TORCH_PYTHON=/path/to/python python benchmarks/compiled.py      # and PyTorch eager
    JAX_PYTHON=/path/to/python python benchmarks/compiled.py        # and JAX, compiled
    INDUCTOR_PYTHON=/path/to/python python benchmarks/compiled.py   # and torch.compile, with g++
    python benchmarks/compiled.py "small graphs" "higher order"     # these groups alone
    python benchmarks/compiled.py --quick                           # only to see that it works

The programs are those of `workloads.py`, and those of `compiled_jax.py`, which do the same. Each
kind has a process of its own; they are asked in turn, and the least time of a call counts. A ratio
is another kind's time over that of the captured step: above 1 the captured one is ahead. "first" is
the time of the first captured call, which records and builds, with nothing in the cache on disk.
What is not captured has a star, and runs as it is.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import sys
import tempfile
import time

import workloads
from overhead import Library
from performance import CORES

ROUNDS, SECONDS = 15, 0.03
LONGEST = 20  # seconds of a row, after which there are no more rounds


def made(kind, workload, size):
    """The step of a workload, and what says how it was captured."""
    if kind == "jax":
        return importlib.import_module("compiled_jax").PROGRAMS[workload.name](size), list
    lib = importlib.import_module("torch" if kind in ("torch", "inductor") else "retrograd")
    lib.manual_seed(0)
    step = workload.make(lib, size)
    if kind == "inductor":
        return compiled_or_eager(lib, step), list
    if kind == "captured":
        step = lib.compile(step)
        return step, lambda: step.compiled.reasons[:1]
    return step, list


def compiled_or_eager(torch, step):
    """The step by torch.compile, or as it is where that refuses it: it has no double backward."""
    compiled = torch.compile(step)
    try:
        compiled()
    except RuntimeError:
        return step
    return compiled


def least(run, wanted):
    """The least time of a call, of as many as begin within some seconds."""
    found, end = float("inf"), time.perf_counter() + wanted
    begun = 0.0
    while begun < end:
        begun = time.perf_counter()
        run()
        found = min(found, time.perf_counter() - begun)
    return found


def serve(kind):
    """Answer requests, a JSON line each: the number of a workload, its size, and how long."""
    if kind in ("torch", "inductor"):
        importlib.import_module("torch").set_num_threads(CORES)
    kept = None
    print(json.dumps(["", []]), flush=True)
    for line in sys.stdin:
        number, size, wanted = json.loads(line)
        if kept != number:
            kept, run = number, None  # before its successor takes memory
            run, why = made(kind, workloads.WORKLOADS[number], size)
            begun = time.perf_counter()
            run()
            first = time.perf_counter() - begun
        print(json.dumps([least(run, wanted), first, why()]), flush=True)


def row(libraries, number, rounds, *request):
    """The least times of a workload, that of the first call, and why it is not captured."""
    found = {kind: [] for kind in libraries}
    end = time.perf_counter() + LONGEST
    for turn in range(rounds):
        if turn and time.perf_counter() > end:
            break
        for kind in list(libraries)[:: -1 if turn % 2 else 1]:
            found[kind].append(libraries[kind].time([number, *request]))
    _, first, why = found["captured"][0]
    return {kind: min(taken for taken, *_ in each) for kind, each in found.items()}, first, why


def main(quick, groups):
    """Print a table, the geometric means of each group, and the rows that are worst."""
    request = (1, 0.01, 0.0) if quick else (ROUNDS, 1.0, SECONDS)
    pythons = {"captured": sys.executable, "eager": sys.executable}
    pythons |= {
        name: os.environ[f"{name.upper()}_PYTHON"]
        for name in ("torch", "inductor", "jax")
        if f"{name.upper()}_PYTHON" in os.environ
    }
    with tempfile.TemporaryDirectory() as cache:
        os.environ["RETROGRAD_CACHE"] = cache
        libraries = {
            kind: Library(kind, python, script=os.path.abspath(__file__), threads=CORES)
            for kind, python in pythons.items()
        }
        others = list(pythons)[1:]
        print(f"| step | captured us | first ms | {' | '.join(others)} |")
        print("|---|---|---|" + "---|" * len(others))
        groups_found, reasons = {}, []
        for number, workload in enumerate(workloads.WORKLOADS):
            if workload.group == "two threads" or (groups and workload.group not in groups):
                continue
            times, first, why = row(libraries, number, *request)
            ratios = {kind: times[kind] / times["captured"] for kind in others}
            shown = " | ".join([f"{ratio:.2f}" for ratio in ratios.values()])
            cells = f"{1e6 * times['captured']:.1f} | {1e3 * first:.0f} | {shown}"
            print(f"| {workload.name}{'*' * len(why)} | {cells} |", flush=True)
            groups_found.setdefault(workload.group, {})[workload.name] = ratios
            reasons += [f"* {workload.name}: {reason}" for reason in why]
    print()
    for kind in others:
        for group, each in groups_found.items():
            mean = statistics.geometric_mean([ratios[kind] for ratios in each.values()])
            worst = min(each, key=lambda name: each[name][kind])
            print(f"{kind}, {group}: {mean:.2f}, least {each[worst][kind]:.2f} ({worst})")
    print("\n".join(reasons))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2])
    else:
        given = sys.argv[1:]
        main("--quick" in given, [each for each in given if each != "--quick"])
