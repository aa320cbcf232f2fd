"""What `all_reduce` takes, by size and number of processes, and what DDP adds to a step.

    TORCH_PYTHON=/path/to/python python benchmarks/distributed.py      # 7 rounds, 2 and 4 processes
    TORCH_PYTHON=/path/to/python python benchmarks/distributed.py 1 2  # 1 round of 2
    python benchmarks/distributed.py step                              # 30 steps of 2 processes
    python benchmarks/distributed.py step 30 docs/overlap.svg          # and a picture of the last

Processes of both libraries, PyTorch's by its gloo, are started once. In every round each of them in
turn reduces every size some times, so a drift of the machine's speed hits both alike; the median of
the rounds' means counts. One thread each. Without TORCH_PYTHON, Retrograd's times alone.

The steps are of a network of 5 million parameters: in every round one without DDP, in which each
process trains alone, and one with it. The later of both processes counts, and of the rounds the
median. Of the step's time, what the program's own thread computes is told apart: the rest is work
of the thread that lets gradients travel, which a spare processor does, and waiting. The picture has
the ops of each process, and below what travels beside them.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

SIZES = {4: 200, 4096: 200, 1 << 20: 20, 1 << 26: 3}  # bytes, and reductions in a round


def rank():
    """One process: for each line that it reads, the mean times of a round, in microseconds."""
    if "AS_TORCH" in os.environ:
        import torch as rg
        import torch.distributed as dist

        rg.set_num_threads(1)
    else:
        import retrograd as rg
        from retrograd import distributed as dist
    dist.init_process_group("gloo")
    tensors = {size: rg.ones(size // 4) for size in SIZES}
    for _ in sys.stdin:
        means = []
        for size, count in SIZES.items():
            dist.all_reduce(tensors[size])  # all are here
            begin = time.perf_counter()
            for _ in range(count):
                dist.all_reduce(tensors[size])
            means.append((time.perf_counter() - begin) / count * 1e6)
        print(*means, flush=True)
    dist.destroy_process_group()


def training(rg, dist, batch):
    """What times a step without DDP and one with it; and what traces one.

    A trace has the ops and what travels, as (name, 0 forward, 1 backward or 2, begin, end).
    """
    import calibration

    from retrograd.viz.recording import recording
    from retrograd.viz.timeline import Clock

    (own, x), (net, _) = calibration.linear(rg), calibration.linear(rg)
    x = x[:batch]
    net = rg.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=4, gradient_as_bucket_view=True)
    optimizers = [rg.optim.SGD(each.parameters(), 1e-3) for each in (own, net)]
    labels, travelled = rg.randint(10, (len(x),)), []

    def step(each, optimizer):
        optimizer.zero_grad()
        loss = rg.nn.functional.cross_entropy(each(x), labels)
        loss.backward()
        optimizer.step()

    def times():
        for each in zip((own, net), optimizers, strict=True):
            dist.barrier()
            begin, used = time.perf_counter(), time.thread_time()
            step(*each)
            yield from (time.perf_counter() - begin, time.thread_time() - used)

    def noted(call, steps):
        begin = time.perf_counter()
        found = yield from steps
        travelled.append((call, 2, begin, time.perf_counter()))
        return found

    def traced():
        world = dist.group.WORLD.world
        do = world.do
        dist.barrier()
        world.do = lambda call, steps, *more, **how: do(call, noted(call, steps), *more, **how)
        with recording() as seen, Clock(seen) as clock:
            step(net, optimizers[1])
        return [(bar.name, int(bar.backward), bar.start, bar.end) for bar in clock.bars] + travelled

    return times, traced


def trainer():
    """One process: for each line that it reads, the times of steps, or a trace."""
    import retrograd as rg
    from retrograd import distributed as dist

    rg.set_num_threads(1)
    dist.init_process_group()
    times, traced = training(rg, dist, int(os.environ["BATCH"]))
    for line in sys.stdin:
        print(json.dumps(traced() if line == "trace\n" else [*times()]), flush=True)
    dist.destroy_process_group()


def hidden(bars):
    """The seconds that gradients of a rank travelled, and the share of these it computed backward.

    >>> hidden([("a", 1, 0.0, 2.0), ("b", 2, 1.0, 3.0)])
    (2.0, 0.5)
    """
    end = max(end for *_, kind, _, end in bars if kind == 1)
    spans = [(begin, end) for *_, kind, begin, end in bars if kind == 2]
    whole = sum(stop - begin for begin, stop in spans)
    return whole, sum(max(0.0, min(stop, end) - begin) for begin, stop in spans) / whole


def picture(ranks):
    """What ranks did in a step, and what travelled meanwhile, as an SVG."""
    from retrograd.viz.axes import COLORS, Axes
    from retrograd.viz.picture import document

    first = min(begin for bars in ranks for *_, begin, _ in bars)
    last = max(end for bars in ranks for *_, end in bars)
    axes = Axes((90, 14, 560, 52 * len(ranks)), (0, (last - first) * 1e3), (0, 1))
    axes.ticks_across(" ms")
    for rank, bars in enumerate(ranks):
        y = 14 + 52 * rank
        axes.parts.append(f'<text x="82" y="{y + 16}" text-anchor="end">rank {rank}</text>')
        for name, kind, begin, end in bars:
            left, right = (axes.at((t - first) * 1e3, 0)[0] for t in (begin, end))
            axes.parts.append(
                f'<rect x="{left:.2f}" y="{y + 22 * (kind == 2)}" height="20" '
                f'width="{max(right - left, 0.5):.2f}" fill="{COLORS[kind]}">'
                f"<title>{name} {(end - begin) * 1e3:.1f} ms</title></rect>"
            )
    axes.legend(["forward", "backward", "gradients travel"], COLORS[:3])
    return document(800, 52 * len(ranks) + 40, axes.parts)


def steps(rounds=30, path="", batch=256):
    """Print what DDP adds to a step, and what of the time that gradients travel is hidden."""
    jobs, rows = started(sys.executable, 2, "trainer", BATCH=str(batch)), []
    for number in range(rounds + 2):
        found = [json.loads(line) for line in answers(jobs)]
        rows += [[max(column) for column in zip(*found, strict=True)]] * (number > 1)
    ranks = [json.loads(line) for line in answers(jobs, "trace")]
    for job in jobs:
        job.communicate()
    for what, place in (("a step", 0), ("its program's thread", 1)):
        pairs = [(row[place], row[place + 2]) for row in rows]
        alone, both = (statistics.median(column) * 1e3 for column in zip(*pairs, strict=True))
        ratio = statistics.median(ddp / plain for plain, ddp in pairs)
        print(f"{what}: {alone:.1f} ms alone, {both:.1f} ms with DDP, ratio {ratio:.2f}")
    for rank, bars in enumerate(ranks):
        whole, share = hidden(bars)
        print(f"rank {rank}: gradients travel {whole * 1e3:.1f} ms, {share:.0%} of that backward")
    if path:
        Path(path).write_text(picture(ranks))


def started(python, size, kind="rank", **more):
    """The processes of one library."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    common = {**os.environ, **more, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    common |= {"WORLD_SIZE": str(size), "OMP_NUM_THREADS": "1"}
    return [
        subprocess.Popen(
            [python, __file__, kind],
            env={**common, "RANK": str(number)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(size)
    ]


def answers(jobs, asked="go"):
    """A line of each process."""
    for job in jobs:
        job.stdin.write(f"{asked}\n")
        job.stdin.flush()
    return [job.stdout.readline() for job in jobs]


def main(rounds=7, *sizes):
    """Print a table for each number of processes."""
    for size in sizes or (2, 4):
        sides = {"Retrograd": started(sys.executable, size)}
        if "TORCH_PYTHON" in os.environ:
            sides["gloo"] = started(os.environ["TORCH_PYTHON"], size, AS_TORCH="1")
        found = {name: [] for name in sides}
        for number in range(rounds + 1):
            for name, jobs in sides.items():
                times = [*map(float, answers(jobs)[0].split())]
                if number:  # the first one warms up
                    found[name].append(times)
        for jobs in sides.values():
            for job in jobs:
                job.communicate()
        for place, count in enumerate(SIZES):
            medians = {
                name: statistics.median(row[place] for row in rows) for name, rows in found.items()
            }
            shown = ", ".join(f"{name} {value:.0f} us" for name, value in medians.items())
            ratio = medians["Retrograd"] / medians.get("gloo", medians["Retrograd"])
            print(f"{size} processes, {count:>10,} bytes: {shown}, ratio {ratio:.2f}")


if __name__ == "__main__":
    what, *given = sys.argv[1:] or [""]
    if what in ("rank", "trainer"):
        {"rank": rank, "trainer": trainer}[what]()
    elif what == "step":
        steps(*map(int, given[:1]), *given[1:2], *map(int, given[2:]))
    else:
        main(*map(int, sys.argv[1:]))
