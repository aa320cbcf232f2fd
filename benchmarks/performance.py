"""Large arrays, models, complex numbers and threads, against PyTorch: the table of the docs.

    TORCH_PYTHON=/path/to/python python benchmarks/performance.py    # prints, and writes the docs
    python benchmarks/performance.py                                 # our own times alone
    python benchmarks/performance.py --quick                         # only to see that it works

The programs are those of `workloads.py`. Each library has a process of its own and as many threads
as there are cores. The two are asked in turn, and what counts is the median of the ratios of
neighbouring times, with the quartiles as its spread. Beside it stands how near Retrograd is to what
the machine can do: its rate of arithmetic as a share of that of a large float32 product, or its
traffic as a share of a copy's, both measured in the same run.
"""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import workloads
from overhead import Library

ROUNDS = 9
LEAST = 0.05  # seconds of one measurement
SWEEP = 8  # the largest array of the size sweep has ten to this many elements
QUICK = {"size": 0.01, "rounds": 1, "sweep": 3, "least": 0.0}
FULL = {"size": 1.0, "rounds": ROUNDS, "sweep": SWEEP, "least": LEAST}
DOCS = Path(__file__).parents[1] / "docs"
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()

HEAD = """# Performance

The ratio is PyTorch's time divided by Retrograd's time. If it is above 1, Retrograd is faster. It
is the median of {rounds} interleaved rounds; the quartiles are in brackets. "Target" is the ratio
that we want to reach. "ms" is Retrograd's time.

The last column compares Retrograd with the limit of this machine: the speed of a large float32
matrix product, or the speed of copying memory. It can be more than 100%, because a part of the data
can be in the CPU's caches. For two threads, the last column says how many times as fast two threads
are as one thread. `benchmarks/performance.py` wrote this page on this machine:

{machine}

"""
SHORT = """## Which workloads are below the target?

For each: the ratio, the target, the share of the machine's limit, and the reason.

"""
FIRST_USED = "conv net with batch norm, batch 32"
FIRST_USE = """## First use

The first step of a process takes longer than later steps, because kernels are compiled or loaded.
For the {name}, it takes {empty:.2f} s more if the cache of kernels
is empty (target: at most 3.00 s), and {filled:.2f} s more in the next process (target: at most
0.10 s).

"""
SWEPT = """## By size

`x * y` forward and backward, float32, from 10 elements to 10^{most}:

![PyTorch's time divided by Retrograd's, by the number of elements](performance.svg)
"""


# -- in the process of one library -----------------------------------------------------------------


def seconds(run, least):
    """How long one call takes, of as many as last `least` seconds."""
    calls = 1
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            run()
        taken = time.perf_counter() - start
        if taken >= least:
            return taken / calls
        calls = max(2 * calls, math.ceil(calls * least / max(taken, 1e-9)))


def limits(size):
    """What the machine can do: flops a second of a product, bytes a second of a copy."""
    import numpy as np

    n, count = workloads.side(2048, size), workloads.scaled(16_000_000, size)
    a, b = np.random.rand(2, n, n).astype(np.float32)
    x, y = np.zeros((2, count), np.float32)
    product = min(seconds(lambda: a @ b, 0) for _ in range(5))
    copy = min(seconds(lambda: np.copyto(y, x), 0) for _ in range(5))
    return {"flops": 2 * n**3 / product, "bytes": 8 * count / copy}


def serve(name):
    """Answer requests, a JSON line each: what, its number, the size, and how long at least."""
    if name == "torch":
        import torch as lib

        lib.set_num_threads(CORES)
    else:
        import retrograd as lib
    kept, run = None, None
    print(json.dumps([lib.__version__, []]), flush=True)
    for line in sys.stdin:
        what, number, size, least = json.loads(line)
        if what == "limits":
            print(json.dumps(limits(size)), flush=True)
            continue
        if kept != (what, number):
            run = None  # before its successor takes memory
            lib.manual_seed(0)
            if what == "swept":
                run = workloads.swept(lib, number)
            else:
                run = workloads.WORKLOADS[number].make(lib, size)
            run()
            kept = what, number
        taken = seconds(run, least)
        in_turn = getattr(run, "in_turn", None)
        print(json.dumps([taken, in_turn and seconds(in_turn, least)]), flush=True)


# -- the comparison --------------------------------------------------------------------------------


def measured(libraries, what, number, settings):
    """The times of one workload: for each library a list, and those of two graphs in turn."""
    found = {key: [] for key in libraries}
    for turn in range(settings["rounds"]):
        for key in list(libraries)[:: -1 if turn % 2 else 1]:
            request = [what, number, settings["size"], settings["least"]]
            found[key].append(libraries[key].time(request))
    return found


def ratios(found):
    """PyTorch's times over ours: the median and the quartiles; None where it was not asked."""
    if "torch" not in found:
        return None
    pairs = zip(found["torch"], found["retrograd"], strict=True)
    each = sorted(theirs / ours for (theirs, _), (ours, _) in pairs)
    low, _, high = (
        statistics.quantiles(each, n=4, method="inclusive") if len(each) > 1 else each * 3
    )
    return statistics.median(each), low, high


def share(workload, ours, machine):
    """How much of the machine's limit a time reaches, in words."""
    limit = "flops" if workload.flops else "bytes"
    amount = getattr(workload, limit)
    if not amount or machine is None:
        return ""
    unit = "of the product's rate" if workload.flops else "of a copy's traffic"
    return f"{amount / ours / machine[limit]:.0%} {unit}"


def gain(times):
    """How much faster two threads are than one, from (together, in turn)."""
    return statistics.median(in_turn / together for together, in_turn in times)


def row(workload, found, machine):
    """One line of the table: names and figures."""
    ours = statistics.median(together for together, _ in found["retrograd"])
    ratio = ratios(found)
    limit = share(workload, ours, machine)
    if workload.group == "two threads":
        limit = ", ".join(f"{key} {gain(times):.2f}" for key, times in found.items())
    shown = ["", ""]
    if ratio is not None:
        shown = [f"{ratio[0]:.2f} ({ratio[1]:.2f} to {ratio[2]:.2f})", f"{workload.asked:.2f}"]
    return [workload.name, f"{ours * 1e3:.3g}", *shown, limit], ratio


def shortfall(workload, ratio, limit):
    """The line of a workload that does not reach the ratio that is asked, or None."""
    if ratio is None or round(ratio[0], 2) >= workload.asked:
        return None
    limit = f", at {limit}" if "%" in limit else ""
    reached = f"{ratio[0]:.2f} measured, target {workload.asked:.2f}{limit}"
    return f"- {workload.name}: {reached}. {workload.cause or 'Why is not known.'}"


def table(libraries, machine, settings):
    """The text of the whole table, group by group; each line is printed as it is known."""
    lines, by_group, short = [], {}, []

    def say(line):
        print(line, flush=True)
        lines.append(line)

    last = None
    for number, workload in enumerate(workloads.WORKLOADS):
        if workload.group != last:
            last = workload.group
            say(f"\n## {last.capitalize()}\n")
            say("| workload | ms | ratio | target | of the limit |\n|---|---|---|---|---|")
        cells, ratio = row(workload, measured(libraries, "workload", number, settings), machine)
        say(f"| {' | '.join(cells)} |")
        if ratio is not None:
            by_group.setdefault(last, []).append(ratio[0])
        short.append(shortfall(workload, ratio, cells[-1]))
    say("")
    for group, each in by_group.items():
        say(f"Geometric mean, {group}: {statistics.geometric_mean(each):.2f}.\n")
    if any(short):
        say(SHORT + "\n".join(filter(None, short)) + "\n")
    return "\n".join(lines) + "\n"


# -- first use -------------------------------------------------------------------------------------


def first_step(size):
    """Print how much longer the first step of this process takes than later ones."""
    import retrograd as lib

    (workload,) = [each for each in workloads.WORKLOADS if each.name == FIRST_USED]
    run = workload.make(lib, size)
    first, *later = [seconds(run, 0) for _ in range(6)]
    print(first - statistics.median(later))


def first_use(size):
    """What a first step costs with an empty cache of kernels, and in the next process, as text."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, os.path.abspath(__file__), "--first-step", str(size)]
        kept = {"RETROGRAD_CACHE": "kernels", "PYTHONPYCACHEPREFIX": "bytecode"}
        kept = {name: os.path.join(folder, part) for name, part in kept.items()}
        environment = os.environ | kept | {"PYTHONDONTWRITEBYTECODE": ""}
        empty, filled = (
            float(
                subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout
            )
            for _ in range(2)
        )
    return FIRST_USE.format(name=FIRST_USED, empty=empty, filled=filled)


# -- the picture of the sweep ----------------------------------------------------------------------


def sweep(libraries, settings):
    """(number of elements, ratio) for each power of ten."""
    counts = [10**n for n in range(1, settings["sweep"] + 1)]
    found = [(n, ratios(measured(libraries, "swept", n, settings))) for n in counts]
    return [(n, ratio[0]) for n, ratio in found if ratio is not None]


def picture(points):
    """An SVG of the ratios over the sizes, both logarithmic."""
    width, height, left, bottom = 640, 320, 50, 40
    most = math.log10(points[-1][0])
    top = max(1.0, *(abs(math.log2(ratio)) for _, ratio in points))

    def place(count, ratio):
        across = (math.log10(count) - 1) / max(most - 1, 1)
        up = (math.log2(ratio) + top) / (2 * top)
        return left + across * (width - left - 20), height - bottom - up * (height - bottom - 20)

    def text(x, y, words, anchor="middle"):
        return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{words}</text>'

    line = " ".join("{:.1f},{:.1f}".format(*place(*point)) for point in points)
    level = place(10, 1.0)[1]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<path d="M{left} {level:.1f}H{width - 20}" stroke="gray" stroke-dasharray="4"/>',
        f'<polyline points="{line}" fill="none" stroke="teal" stroke-width="2"/>',
        *[text(place(n, 1)[0], height - 20, f"10^{round(math.log10(n))}") for n, _ in points],
        *[text(place(n, r)[0], place(n, r)[1] - 8, f"{r:.2f}") for n, r in points],
        text(left - 8, level + 4, "1", "end"),
        text(width / 2, height - 4, "elements"),
        "</svg>\n",
    ]
    return "\n".join(parts)


def processor():
    """The name of the processor, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def main(quick):
    """Run everything and print it; write the docs, if it is in earnest and PyTorch is there."""
    import numpy as np

    settings, script = QUICK if quick else FULL, os.path.abspath(__file__)
    libraries = {"retrograd": Library("retrograd", sys.executable, script=script, threads=CORES)}
    torch_python = os.environ.get("TORCH_PYTHON")
    if torch_python:
        libraries["torch"] = Library("torch", torch_python, script=script, threads=CORES)
    machine = libraries["retrograd"].time(["limits", 0, settings["size"], 0])
    versions = ", ".join(f"{name} {library.version}" for name, library in libraries.items())
    about = (
        f"{processor()}, {CORES} cores, {machine['flops'] / 1e9:.0f} Gflop/s in float32 products, "
        f"{machine['bytes'] / 1e9:.1f} GB/s in copies; {platform.system()}, CPython "
        f"{platform.python_version()}, NumPy {np.__version__}, {versions}."
    )
    print(about)
    rows = table(libraries, None if quick else machine, settings)
    used = first_use(settings["size"])
    print(used)
    points = sweep(libraries, settings)
    for count, ratio in points:
        print(f"x * y of {count:>11,} elements: {ratio:.2f}")
    if torch_python and not quick:
        head = HEAD.format(rounds=ROUNDS, machine=about)
        (DOCS / "performance.md").write_text(head + rows + "\n" + used + SWEPT.format(most=SWEEP))
        (DOCS / "performance.svg").write_text(picture(points))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2])
    elif sys.argv[1:2] == ["--first-step"]:
        first_step(float(sys.argv[2]))
    else:
        main("--quick" in sys.argv[1:])
