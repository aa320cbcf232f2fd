"""Steps compiled by `rg.compile`, beside the same steps run eagerly, by PyTorch, and by jax.jit.

    python benchmarks/compiled.py                                   # eager and compiled
    TORCH_PYTHON=/path/to/python python benchmarks/compiled.py      # and PyTorch eager
    JAX_PYTHON=/path/to/python python benchmarks/compiled.py        # and JAX, compiled
    python benchmarks/compiled.py --quick                           # only to see that it works

The least time of a step in several rounds counts, the kinds in turn; "first" is the time of the
first call, which records and builds, without what the cache on disk keeps from before.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time

ROUNDS, SECONDS = 15, 0.02


def training(lib, model, optimizer, x, y):
    """A step of training."""

    def step():
        optimizer.zero_grad()
        loss = lib.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def perceptron(lib, kind, **settings):
    """Two layers of 16 on 8 examples."""
    nn = lib.nn
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = getattr(lib.optim, kind)(model.parameters(), **settings)
    return training(lib, model, optimizer, lib.randn(8, 8), lib.randn(8, 1))


def chain(lib):
    """100 products of 10 numbers, forward and backward."""
    w = lib.ones(10).requires_grad_()

    def step():
        y = w
        for _ in range(100):
            y = y * w
        y.sum().backward()

    return step


def cells(lib):
    """An LSTM cell over 20 steps, forward and backward."""
    cell, x = lib.nn.LSTMCell(4, 8), lib.randn(20, 2, 4)

    def step():
        h, c = lib.zeros(2, 8), lib.zeros(2, 8)
        for t in range(20):
            h, c = cell(x[t], (h, c))
        h.sum().backward()

    return step


def equation(lib):
    """A neural differential equation, 20 steps of two stages, with Adam."""
    nn = lib.nn
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer, start, end = lib.optim.Adam(model.parameters()), lib.randn(4, 2), lib.randn(4, 2)

    def step():
        optimizer.zero_grad()
        y = start
        for _ in range(20):
            y = y + 0.1 * model(y + 0.05 * model(y))
        loss = lib.nn.functional.mse_loss(y, end)
        loss.backward()
        optimizer.step()
        return loss

    return step


def modulus(lib):
    """A complex layer and moduli, forward and backward."""
    w, x = lib.randn(6, 6, dtype=lib.complex64).requires_grad_(), lib.randn(6, 6)

    def step():
        z = (w * x).exp() * w.conj()
        (z.abs() ** 2).sum().backward()

    return step


STEPS = {
    "chain of 100 products": chain,
    "perceptron, SGD with momentum": lambda lib: perceptron(lib, "SGD", lr=0.1, momentum=0.9),
    "perceptron, Adam": lambda lib: perceptron(lib, "Adam"),
    "LSTM cell, 20 steps": cells,
    "neural differential equation": equation,
    "complex products and moduli": modulus,
}


def least(step, seconds):
    """The least time of a step, in microseconds, within some time."""
    found, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begun = time.perf_counter()
        step()
        found = min(found, time.perf_counter() - begun)
    return found * 1e6


def times(library, quick):
    """The times of all steps in this process: eager, compiled where there is that, the first."""
    if library == "jax":
        made = importlib.import_module("compiled_jax").STEPS
        return {name: jitted(make(), quick) for name, make in made.items()}
    lib = importlib.import_module(library)
    if library == "torch":
        lib.set_num_threads(1)
    rounds, seconds = (1, 0.001) if quick else (ROUNDS, SECONDS)
    rows = {}
    for name, make in STEPS.items():
        eager, first, steps = make(lib), 0.0, {}
        steps["eager"] = eager
        if library == "retrograd":
            steps["compiled"] = compiled = lib.compile(make(lib))
            begun = time.perf_counter()
            compiled()
            first = (time.perf_counter() - begun) * 1e3
        found = {kind: float("inf") for kind in steps}
        for _ in range(rounds):
            for kind, step in steps.items():
                found[kind] = min(found[kind], least(step, seconds))
        rows[name] = {**found, "first": first}
    return rows


def jitted(step, quick):
    """The times of a step of JAX's."""
    begun = time.perf_counter()
    step()
    first = (time.perf_counter() - begun) * 1e3
    return {"compiled": least(step, 0.001 if quick else ROUNDS * SECONDS), "first": first}


def main():
    """Print a table."""
    with tempfile.TemporaryDirectory() as cache:
        run = [sys.executable, __file__, "retrograd", *sys.argv[1:]]
        here = os.environ | {"RETROGRAD_CACHE": cache}
        rows = json.loads(subprocess.check_output(run, env=here))
    others = {}
    for name, kind in (("torch", "eager"), ("jax", "compiled")):
        if python := os.environ.get(f"{name.upper()}_PYTHON"):
            found = subprocess.check_output([python, __file__, name, *sys.argv[1:]])
            others[name] = {step: row[kind] for step, row in json.loads(found).items()}
    more = "".join([f" {name} us | gain |" for name in others])
    print("| step | eager us | compiled us | gain | first ms |" + more)
    print("|---|---|---|---|---|" + "---|---|" * len(others))
    for name, row in rows.items():
        gain = row["eager"] / row["compiled"]
        line = f"| {name} | {row['eager']:.0f} | {row['compiled']:.1f} | {gain:.1f} |"
        line += f" {row['first']:.0f} |"
        for other in others.values():
            line += f" {other[name]:.0f} | {other[name] / row['compiled']:.1f} |"
        print(line)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in ("retrograd", "torch", "jax"):
        print(json.dumps(times(sys.argv[1], "--quick" in sys.argv)))
    else:
        main()
