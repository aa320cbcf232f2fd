"""What workers gain where pictures are decoded: DataLoader by fork, by spawn, by threads, without.

    python benchmarks/loading.py                                    # 7 rounds of 256 pictures
    TORCH_PYTHON=/path/to/python python benchmarks/loading.py       # beside PyTorch, with Pillow
    python benchmarks/loading.py --quick                            # only to see that it works

Pictures are JPEG files of 320x240 pixels, read by Pillow, halved and made numbers, in batches of
32. Workers, two of each kind, are there already: the first epoch is not counted. Every round runs
each kind once, PyTorch's (in a process of its own, which waits meanwhile) directly after
Retrograd's, so a drift of the machine's speed hits all alike. The 20th percentile of the rounds
counts.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

KINDS = ("none", "fork", "spawn", "thread")  # PyTorch has no threads
ROUNDS, PICTURES, QUICK, BATCH, WORKERS = 7, 256, 8, 32, 2


class Pictures:
    """The files of a folder, decoded; no library but Pillow and NumPy knows them."""

    def __init__(self, folder):
        self.paths = sorted(Path(folder).iterdir())

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with Image.open(self.paths[index]) as picture:
            small = picture.resize((160, 120), Image.Resampling.BILINEAR)
        return (np.asarray(small, np.float32) / 255).transpose(2, 0, 1)


def write(folder, count):
    """Pictures of smooth colours with some noise, as photographs have."""
    draws = np.random.default_rng(0)
    y, x = np.mgrid[:240, :320, :1][:2]
    for n in range(count):
        waves = np.sin((x * draws.uniform(1, 9, 3) + y * draws.uniform(1, 9, 3)) / 200 + n)
        noise = draws.normal(0, 8, (240, 320, 3))
        pixels = (127 + 100 * waves + noise).clip(0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(Path(folder, f"{n:04}.jpg"), quality=90)


def epochs(library, folder):
    """For each kind, a function that loads all pictures and gives the seconds that it took."""
    data = importlib.import_module(f"{library}.utils.data")

    def timed(kind):
        workers = {"num_workers": WORKERS, "persistent_workers": True}
        settings = {} if kind == "none" else {**workers, "multiprocessing_context": kind}
        loader = data.DataLoader(Pictures(folder), BATCH, **settings)

        def run():
            start = time.perf_counter()
            count = sum(len(batch) for batch in loader)
            assert count == len(loader.dataset)
            return time.perf_counter() - start

        return run

    return {kind: timed(kind) for kind in KINDS if library != "torch" or kind != "thread"}


def serve(library, folder):
    """In PyTorch's process: an epoch for every kind that is asked for, up to an empty line."""
    programs = epochs(library, folder)
    for line in iter(sys.stdin.readline, "\n"):  # workers by fork keep the pipe from ending
        print(programs[line.strip()](), flush=True)


def percentile(values):
    """The 20th percentile."""
    return sorted(values)[len(values) // 5]


def main(rounds, pictures):
    """Run everything and print the table."""
    torch_python, times = os.environ.get("TORCH_PYTHON"), {}
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        write(folder, pictures)
        programs = epochs("retrograd", folder)
        other = None
        if torch_python:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            command = [torch_python, __file__, "--serve", "torch", folder]
            other = stack.enter_context(subprocess.Popen(command, **pipes))
        for round_ in range(rounds + 1):
            for kind, run in programs.items():
                found = {"Retrograd": run()}
                if other and kind != "thread":
                    other.stdin.write(f"{kind}\n")
                    other.stdin.flush()
                    found["PyTorch"] = float(other.stdout.readline())
                for library, seconds in found.items():
                    times.setdefault((library, kind), []).extend([seconds] * bool(round_))
        if other:
            other.stdin.write("\n")
            other.stdin.flush()
    print("| library | workers | pictures a second | beside none |\n|---|---|---|---|")
    for (library, kind), seconds in times.items():
        speed = pictures / percentile(seconds)
        gain = percentile(times[library, "none"]) / percentile(seconds)
        print(f"| {library} | {kind} | {speed:.0f} | {gain:.2f} |")


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve(*sys.argv[-2:])
    else:
        quick = "--quick" in sys.argv
        main(*((1, QUICK) if quick else (ROUNDS, PICTURES)))
