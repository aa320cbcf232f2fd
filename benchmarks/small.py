"""Calls and layers on a handful of numbers, beside PyTorch: what a call costs, not its arithmetic.

    TORCH_PYTHON=/path/to/python python benchmarks/small.py     # with ratios to PyTorch
    BEFORE=/path/to/checkout python benchmarks/small.py         # and to an older checkout, built
    python benchmarks/small.py --quick                          # only to see that it works

The libraries run the same text in processes of their own, as in `overhead.py`, and are asked in
turn; the least of a program's times counts, since all that disturbs one makes it longer. Layers run
forward and backward. The figures to read are the ratios, and their geometric mean.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
import warnings

from overhead import Library

ROUNDS, SECONDS = 5, 0.004
NAMES = ("retrograd", "before", "torch")


def calls(lib):
    """Single calls: name -> function."""
    functional, x, c, v = lib.nn.functional, lib.rand(4, 4), lib.rand(4, 4), lib.rand(4)
    x.requires_grad_()
    index, labels, mask = lib.tensor([0, 2]), lib.tensor([0, 1, 2, 3]), c > 0.5
    image, kernel = lib.rand(1, 3, 8, 8), lib.rand(4, 3, 3, 3)
    definite, column = 8 * lib.eye(8) + lib.ones(8, 8), lib.rand(8, 1)
    factor, lstm, steps = lib.linalg.cholesky(definite), lib.nn.LSTM(8, 16), lib.rand(10, 4, 8)
    lstm.requires_grad_(False)
    return {
        "x + y": lambda: x + c,
        "exp": lambda: x.exp(),
        "sigmoid": lambda: lib.sigmoid(x),
        "clamp": lambda: x.clamp(0, 1),
        "where": lambda: lib.where(mask, x, c),
        "sum": lambda: x.sum(),
        "mean": lambda: x.mean(),
        "var": lambda: x.var(),
        "max of rows": lambda: x.max(1),
        "cumsum": lambda: x.cumsum(0),
        "sort": lambda: x.sort(),
        "topk": lambda: x.topk(2),
        "softmax": lambda: functional.softmax(x, -1),
        "x @ y": lambda: x @ c,
        "bmm": lambda: lib.bmm(x[None], c[None]),
        "x[0]": lambda: x[0],
        "x[:, 1]": lambda: x[:, 1],
        "x[index]": lambda: x[index],
        "x[mask]": lambda: x[mask],
        "gather": lambda: x.gather(1, labels[:, None]),
        "cat": lambda: lib.cat([x, c]),
        "stack": lambda: lib.stack([x, c]),
        "split": lambda: x.split(2),
        "view": lambda: x.view(16),
        "permute": lambda: x.permute(1, 0),
        "expand": lambda: v.expand(4, 4),
        "pad": lambda: functional.pad(x, (1, 1)),
        "tril": lambda: x.tril(),
        "zeros": lambda: lib.zeros(4, 4),
        "rand": lambda: lib.rand(4),
        "randn": lambda: lib.randn(4),
        "arange": lambda: lib.arange(4),
        "a seed and randn": lambda: lib.randn(4, generator=lib.Generator().manual_seed(1)),
        "erfc": lambda: lib.special.erfc(c),
        "solve_triangular": lambda: lib.linalg.solve_triangular(c, c, upper=True),
        "solve": lambda: lib.linalg.solve(definite, column),
        "cholesky": lambda: lib.linalg.cholesky(definite),
        "lu_factor": lambda: lib.linalg.lu_factor(definite),
        "cholesky_solve": lambda: lib.cholesky_solve(column, factor),
        "LSTM, no history": lambda: lstm(steps),
        "conv2d": lambda: functional.conv2d(image, kernel),
        "max_pool2d": lambda: functional.max_pool2d(image, 2),
        "interpolate": lambda: functional.interpolate(image, scale_factor=2),
        "attention": lambda: functional.scaled_dot_product_attention(image, image, image),
    }


def layers(lib):
    """Layers and losses, each with its inputs: name -> the function that runs it there and back."""
    nn, x, signal, image = lib.nn, lib.rand(4, 8), lib.rand(2, 3, 16), lib.rand(2, 3, 8, 8)
    given, steps, labels = lib.rand(4, 8), lib.rand(5, 2, 8), lib.tensor([0, 1, 2, 3])
    for each in (x, signal, image, steps):
        each.requires_grad_()
    named = [
        (nn.Linear(8, 8), x), (nn.Conv1d(3, 4, 3), signal), (nn.Conv2d(3, 4, 3), image),
        (nn.BatchNorm1d(8), x), (nn.BatchNorm2d(3), image), (nn.LayerNorm(8), x),
        (nn.GroupNorm(3, 3), image), (nn.InstanceNorm2d(3), image), (nn.Embedding(10, 8), labels),
        (nn.RNN(8, 8), steps), (nn.GRU(8, 8), steps), (nn.LSTM(8, 8), steps),
        (nn.MultiheadAttention(8, 2), steps, steps, steps),
        (nn.TransformerEncoderLayer(8, 2, 16), steps), (nn.Dropout(0.5), x),
        (nn.MaxPool2d(2), image), (nn.AvgPool2d(2), image), (nn.AdaptiveAvgPool2d(1), image),
        (nn.ReLU(), x), (nn.GELU(), x), (nn.SiLU(), x), (nn.Softmax(-1), x), (nn.GLU(), x),
        (nn.Upsample(scale_factor=2), image), (nn.MSELoss(), x, given), (nn.L1Loss(), x, given),
        (nn.SmoothL1Loss(), x, given), (nn.CrossEntropyLoss(), x, labels),
        (nn.NLLLoss(), x, labels), (nn.BCEWithLogitsLoss(), x, given),
        (nn.KLDivLoss(reduction="batchmean"), x, given), (nn.CosineSimilarity(), x, given),
    ]  # fmt: skip
    return {type(layer).__name__: there_and_back(layer, inputs) for layer, *inputs in named}


def there_and_back(layer, inputs):
    """A function that runs a layer and its backward pass; it leaves no sums of gradients."""

    def run():
        layer.zero_grad()
        found = layer(*inputs)
        (found[0] if isinstance(found, tuple) else found).sum().backward()

    return run


def least(function):
    """Seconds per call, the least of a few blocks."""
    count = 1
    while block(function, count) * count < SECONDS / 4:
        count *= 2
    return min(block(function, count) for _ in range(4))


def block(function, count):
    """Seconds per call, of so many calls."""
    start = time.perf_counter()
    for _ in range(count):
        function()
    return (time.perf_counter() - start) / count


def serve(name):
    """Answer requests for times of one library's programs, a JSON line each."""
    warnings.simplefilter("ignore")
    if name == "torch":
        import torch as lib

        lib.set_num_threads(1)
    else:
        import retrograd as lib
    lib.manual_seed(0)
    functions = calls(lib) | layers(lib)
    print(json.dumps([lib.__version__, list(functions)]), flush=True)
    for line in sys.stdin:
        print(json.dumps(least(functions[json.loads(line)])), flush=True)


def measure(libraries, rounds):
    """The least time of each program in each library."""
    names = libraries["retrograd"].names
    times = {(key, name): math.inf for key in libraries for name in names}
    for _ in range(rounds):
        for name in names:
            for key, library in libraries.items():
                times[key, name] = min(times[key, name], library.time(name))
    return times


def main(quick):
    """Run everything and print the table."""
    places = {
        "retrograd": (sys.executable, None),
        "before": (sys.executable, os.environ.get("BEFORE")),
        "torch": (os.environ.get("TORCH_PYTHON"), None),
    }
    libraries = {
        name: Library("torch" if name == "torch" else "retrograd", *places[name], __file__)
        for name in NAMES
        if name == "retrograd" or (places["before"][1] if name == "before" else places["torch"][0])
    }
    found, others = measure(libraries, 1 if quick else ROUNDS), list(libraries)[1:]
    heads = "".join(f"{name:>12}{'ratio':>8}" for name in others)
    print(f"{'':28}{'retrograd':>12}{heads}   (us)")
    for name in libraries["retrograd"].names:
        ours = found["retrograd", name]
        theirs = [found[key, name] for key in others]
        line = "".join(f"{each * 1e6:12.2f}{each / ours:8.2f}" for each in theirs)
        print(f"{name:28}{ours * 1e6:12.2f}{line}")
    for key in others:
        names = libraries["retrograd"].names
        logs = [math.log(found[key, name] / found["retrograd", name]) for name in names]
        print(f"geometric mean of the ratios to {key}: {math.exp(sum(logs) / len(logs)):.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2])
    else:
        main("--quick" in sys.argv)
