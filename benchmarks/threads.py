"""What threads gain: the forward and backward passes of two separate graphs, together and in turn.

    python benchmarks/threads.py            # 9 rounds
    python benchmarks/threads.py 1          # only to see that it works

Every round runs each program once in turn (one thread, both graphs) and once together (two threads
that are there already, a graph each), so a drift of the machine's speed hits both alike. The 20th
percentile of the rounds counts. The throughput asked for on two cores is 1.6 times the serial one
for large arrays, whose arithmetic runs outside the interpreter lock; small ones stay inside it, and
are here to show that nothing is lost. BLAS gets one thread, or it would use both cores by itself.
"""

from __future__ import annotations

import concurrent.futures
import os
import subprocess
import sys
import time

import numpy as np

import retrograd as rg
from retrograd import nn

ROUNDS = 9
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
ASKED = 1.6


def elementwise(size, depth):
    """A chain of elementwise operations on one large array."""
    x = rg.randn(size, dtype=rg.float64, requires_grad=True)

    def run():
        y = x
        for _ in range(depth):
            y = (y * x).tanh()
        y.sum().backward()
        x.grad = None

    return run


def network(width, depth, batch):
    """A training step of layers of matrix products."""
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.Tanh())]
    model, data = nn.Sequential(*layers), rg.randn(batch, width)

    def run():
        model.zero_grad()
        model(data).square().mean().backward()

    return run


PROGRAMS = {
    "chain of 10 tanh(y * x), 200,000 float64": lambda: elementwise(200_000, 10),
    "8 layers of 512, batch 256, float32": lambda: network(512, 8, 256),
    "chain of 100 tanh(y * x), 16 float64 (small)": lambda: elementwise(16, 100),
}
LARGE = list(PROGRAMS)[:2]


def percentile(values):
    """The 20th percentile."""
    return sorted(values)[len(values) // 5]


def seconds(function):
    """How long one call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main(rounds):
    """Run everything and print the table."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        graphs = {name: (make(), make()) for name, make in PROGRAMS.items()}
        repeats = {}
        for name, (first, _) in graphs.items():
            first()
            repeats[name] = max(1, int(0.1 / seconds(first)))
        times = {name: ([], []) for name in graphs}
        for _ in range(rounds):
            for name, pair in graphs.items():
                work = [lambda run=run, n=repeats[name]: [run() for _ in range(n)] for run in pair]
                times[name][0].append(seconds(lambda work=work: [each() for each in work]))
                times[name][1].append(
                    seconds(
                        lambda work=work: concurrent.futures.wait([pool.submit(w) for w in work])
                    )
                )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(
        f"retrograd {rg.__version__}, NumPy {np.__version__}, CPython {sys.version.split()[0]}, "
        f"{cores} cores, {rounds} rounds\n"
    )
    print(f"{'two graphs':48}{'in turn':>10}{'together':>10}{'gain':>8}   (ms)")
    for name, (serial, together) in times.items():
        alone, both = percentile(serial), percentile(together)
        asked = f"   asked: {ASKED} on 2 cores" if name in LARGE else ""
        scale = 1e3 / repeats[name]
        print(f"{name:48}{alone * scale:10.1f}{both * scale:10.1f}{alone / both:8.2f}{asked}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        main(int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS)
    else:
        one = os.environ | dict.fromkeys(THREADS, "1")
        subprocess.run([sys.executable, __file__, "--run", *sys.argv[1:]], env=one, check=True)
