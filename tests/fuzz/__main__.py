"""Looks for programs on which C, Python and PyTorch differ: `make fuzz`, or

    TORCH_PYTHON=path/to/python python -m tests.fuzz [COUNT=1000] [SEED=0] [MINUTES=inf] [TO=folder]

prints each failure shrunk, once for each sort of it, and how many programs a minute it tried.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections import Counter
from pathlib import Path

from .compare import difference, explained
from .programs import program
from .shrink import printed, shrunk
from .workers import outcomes, workers


def first(program, found):
    """The first unexplained difference between outcomes, with the names of the two sides."""
    reference = "PyTorch" if "PyTorch" in found else "C"
    for name, outcome in found.items():
        d = difference(outcome, found[reference])
        if d and not explained(program, d):
            return name, reference, d
    return None


def fails_like(known, processes, watched):
    """A test of whether a program still fails in the same way."""

    def fails(candidate):
        found = first(candidate, outcomes(processes, candidate, watched))
        return bool(found) and found[0] == known[0] and found[2].sort == known[2].sort

    return fails


def shape_of(program):
    """A program without its names and numbers, to tell failures of one sort."""
    return re.sub(r"[-+\d.j]+|\[[^a-z]*\]", "", " ".join(program))


def main(COUNT=1000, SEED=0, MINUTES="inf", TO=None):
    """Try programs and report."""
    processes = workers(os.environ.get("TORCH_PYTHON"))
    begun, sorts, n = time.monotonic(), Counter(), 0
    for seed in range(int(SEED), int(SEED) + int(COUNT)):
        if time.monotonic() - begun > 60 * float(MINUTES):
            break
        made, watched, n = program(seed), seed % 2 == 0, n + 1
        found = first(made, outcomes(processes, made, watched))
        if not found:
            continue
        small = shrunk(made, fails_like(found, processes, watched))
        name, reference, d = first(small, outcomes(processes, small, watched)) or found
        sorts[shape_of(small)] += 1
        if sorts[shape_of(small)] > 1:
            continue
        when = "" if watched else ", looked at only in the end"
        says = [
            f"seed {seed}{when}: statement {d.statement + 1}, {d.what}",
            f"{name}: {d.ours}",
            f"{reference}: {d.theirs}",
        ]
        text = printed(small, says)
        print(text, flush=True)
        if TO:
            Path(TO, f"{len(sorts):03}.py").write_text(text)
    for worker in processes.values():
        worker.stop()
    rate = n / (time.monotonic() - begun) * 60
    print(f"{n} programs, {rate:.0f} a minute with {', '.join(processes)}")
    print(f"{sum(sorts.values())} failures of {len(sorts)} sorts")
    return bool(sorts)


if __name__ == "__main__":
    sys.exit(main(**dict(argument.split("=") for argument in sys.argv[1:])))
