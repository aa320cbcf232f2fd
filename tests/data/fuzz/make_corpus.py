"""Writes `corpus.xz`, random programs and what PyTorch makes of them, for tests/fuzz.

    TORCH_PYTHON=path/to/python python -m tests.data.fuzz.make_corpus [number of programs]

from the root of the repository. Programs on which Retrograd differs at the time are left out and
their seeds printed: `make fuzz SEED=... COUNT=1` shows each.
"""

from __future__ import annotations

import os
import sys

from tests.fuzz.__main__ import first
from tests.fuzz.corpus import PATH, write
from tests.fuzz.programs import program
from tests.fuzz.workers import outcomes, workers

if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    processes = workers(os.environ["TORCH_PYTHON"])
    entries, left_out, seed = [], [], 0
    while len(entries) < wanted:
        made, watched = program(seed), seed % 2 == 0
        found = outcomes(processes, made, watched)
        if first(made, found):
            left_out.append(seed)
        else:
            entries.append([seed, watched, made, found["PyTorch"]])
        seed += 1
    write(entries)
    for worker in processes.values():
        worker.stop()
    print(f"{len(entries)} programs, {PATH.stat().st_size} bytes; left out: {left_out}")
