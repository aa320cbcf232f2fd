"""What the engine costs beside the arithmetic: small arrays, one thread.

    python benchmarks/overhead.py
    TORCH_PYTHON=/path/to/python python benchmarks/overhead.py     # with ratios to PyTorch
    BEFORE=/path/to/checkout python benchmarks/overhead.py         # and to an older checkout, built

Every program is one function of a library module `lib`, so PyTorch and Retrograd run the same text.
Each library has a process of its own; the two are asked in turn, a block of runs at a time, and the
20th percentile of the blocks counts: that is what the machine does when nothing else disturbs it,
and a drift of its speed hits both alike. Absolute times mean little on a shared machine; the
ratios are what to read.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time

BLOCKS = 15
BLOCK_SECONDS = 0.04
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def programs(lib):
    """The timed programs: name -> (function, how many operations one call holds)."""
    x = lib.rand(8, 8, requires_grad=True)
    y = lib.rand(8, 8, requires_grad=True)
    a, b = lib.rand(8, 8), lib.rand(8, 8)
    ones = lib.ones(8, 8)

    def chain():
        z = x
        for _ in range(100):
            z = z * y
        return z

    kept = chain()

    def train_step(
        net=mlp(lib),
        data=lib.randn(16, 32),
        labels=lib.randint(0, 10, (16,)),
        loss=lib.nn.functional.cross_entropy,
    ):
        model, optimizer = net
        optimizer.zero_grad()
        loss(model(data), labels).backward()
        optimizer.step()

    return {
        "multiply, not recorded": (lambda: a * b, 1),
        "multiply, recorded": (lambda: x * y, 1),
        "exp, not recorded": (a.exp, 1),
        "exp, recorded": (x.exp, 1),
        "sum over a dimension, not recorded": (lambda: a.sum(1), 1),
        "sum over a dimension, recorded": (lambda: x.sum(1), 1),
        "chain of 100 multiplies, forward and backward, per op": (
            lambda: chain().backward(ones),
            100,
        ),
        "the same chain, backward per node": (
            lambda: kept.backward(ones, retain_graph=True),
            100,
        ),
        "(x * y).sum().backward()": (lambda: (x * y).sum().backward(), 1),
        "training step, MLP 32-64-64-10, batch 16": (train_step, 1),
    }


def mlp(lib):
    """The small network and its optimizer."""
    nn = lib.nn
    model = nn.Sequential(
        nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 10)
    )
    return model, lib.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def bare_numpy():
    """The NumPy call inside each single op above."""
    import numpy as np

    a, b = np.random.rand(2, 8, 8).astype(np.float32)
    return {
        "multiply": lambda: np.multiply(a, b),
        "exp": lambda: np.exp(a),
        "sum over a dimension": lambda: np.add.reduce(a, 1),
    }


def block(function):
    """Seconds per call, over one block of calls."""
    calls = 1
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            function()
        elapsed = time.perf_counter() - start
        if elapsed > BLOCK_SECONDS / 4:
            return elapsed / calls
        calls *= 4


def serve(name):
    """Answer requests for blocks of one library's programs, a JSON line each."""
    if name == "torch":
        import torch as lib

        lib.set_num_threads(1)
    else:
        import retrograd as lib
    lib.manual_seed(0)
    functions = {key: function for key, (function, _) in programs(lib).items()}
    if name == "retrograd":
        functions |= {"numpy: " + key: function for key, function in bare_numpy().items()}
    print(json.dumps([lib.__version__, list(functions)]), flush=True)
    for line in sys.stdin:
        print(json.dumps(block(functions[json.loads(line)])), flush=True)


class Library:
    """One library in its own process, which `script` serves, with so many threads."""

    def __init__(self, name, python, checkout=None, script=__file__, threads=1):
        environment = os.environ | dict.fromkeys(THREADS, str(threads))
        if checkout is not None:
            environment["PYTHONPATH"] = os.path.join(checkout, "src")
        self.process = subprocess.Popen(
            [python, script, "--serve", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.version, self.names = json.loads(self.process.stdout.readline())

    def time(self, program):
        """What the process answers: of `program`, the time of one block."""
        self.process.stdin.write(json.dumps(program) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def percentile(values):
    """The 20th percentile."""
    return sorted(values)[len(values) // 5]


def measure(libraries, programs):
    """Microseconds for each library and program, the blocks of all interleaved."""
    times = {(key, program): [] for key in libraries for program in programs}
    for _ in range(BLOCKS):
        for program in programs:
            for key, library in libraries.items():
                if program in library.names:
                    times[key, program].append(library.time(program))
    return {pair: percentile(t) * 1e6 for pair, t in times.items() if t}


def import_seconds():
    """How long the two import statements take in fresh interpreters, byte code in place."""
    seconds = {"numpy": [], "retrograd": []}
    with tempfile.TemporaryDirectory() as prefix:
        environment = os.environ | {"PYTHONPYCACHEPREFIX": prefix, "PYTHONDONTWRITEBYTECODE": ""}
        for _ in range(BLOCKS + 1):
            for name, taken in seconds.items():
                code = (
                    "import time; start = time.perf_counter()\n"
                    f"import {name}; print(time.perf_counter() - start)"
                )
                done = subprocess.run(
                    [sys.executable, "-c", code],
                    check=True,
                    env=environment,
                    capture_output=True,
                    text=True,
                )
                taken.append(float(done.stdout))
    return {name: percentile(taken[1:]) for name, taken in seconds.items()}


def main():
    """Run everything and print the tables."""
    libraries = {"retrograd": Library("retrograd", sys.executable)}
    before = os.environ.get("BEFORE")
    if before:
        libraries["before"] = Library("retrograd", sys.executable, before)
    torch_python = os.environ.get("TORCH_PYTHON")
    if torch_python:
        libraries["torch"] = Library("torch", torch_python)
    for name, library in libraries.items():
        print(f"{name} {library.version}", end="  ")
    from retrograd.engine.native import native

    print("hot path in", "Python" if native is None else "C", end="  ")
    print(f"({BLOCKS} interleaved blocks, 20th percentile, one thread, 8x8 float32)\n")
    found = measure(libraries, libraries["retrograd"].names)
    others = [name for name in libraries if name != "retrograd"]
    heads = "".join(f"{name:>12}{'ratio':>8}" for name in others)
    print(f"{'':56}{'retrograd':>12}{heads}   (us)")
    for program in programs_in_order(libraries):
        scale = 100 if "100" in program or "chain" in program else 1
        ours = found["retrograd", program] / scale
        theirs = [found[name, program] / scale for name in others]
        line = "".join(f"{each:12.2f}{each / ours:8.2f}" for each in theirs)
        print(f"{program:56}{ours:12.2f}{line}")
    print(f"\n{'over the bare NumPy call':56}{'not recorded':>14}{'recorded':>10}   (us)")
    for op in ("multiply", "exp", "sum over a dimension"):
        bare = found["retrograd", "numpy: " + op]
        plain = found["retrograd", op + ", not recorded"] - bare
        recorded = found["retrograd", op + ", recorded"] - bare
        print(f"{op:56}{plain:14.2f}{recorded:10.2f}")
    seconds = import_seconds()
    print(
        f"\nimport retrograd: {seconds['retrograd'] * 1e3:.0f} ms, import numpy: "
        f"{seconds['numpy'] * 1e3:.0f} ms, ratio {seconds['retrograd'] / seconds['numpy']:.2f}"
    )


def programs_in_order(libraries):
    """The program names, without the bare NumPy calls."""
    return [name for name in libraries["retrograd"].names if not name.startswith("numpy: ")]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2])
    else:
        main()
