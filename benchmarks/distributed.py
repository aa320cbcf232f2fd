"""What `all_reduce` takes, by size and number of processes, beside PyTorch's gloo.

    TORCH_PYTHON=/path/to/python python benchmarks/distributed.py      # 7 rounds, 2 and 4 processes
    TORCH_PYTHON=/path/to/python python benchmarks/distributed.py 1 2  # 1 round of 2

Processes of both libraries are started once. In every round each of them in turn reduces every size
some times, so a drift of the machine's speed hits both alike; the median of the rounds' means
counts. One thread each. Without TORCH_PYTHON, Retrograd's times alone.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import time

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


def started(python, size, **more):
    """The processes of one library."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    common = {**os.environ, **more, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    common |= {"WORLD_SIZE": str(size), "OMP_NUM_THREADS": "1"}
    return [
        subprocess.Popen(
            [python, __file__, "rank"],
            env={**common, "RANK": str(number)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(size)
    ]


def a_round(jobs):
    """The times of rank 0."""
    for job in jobs:
        job.stdin.write("go\n")
        job.stdin.flush()
    first, *_ = [[*map(float, job.stdout.readline().split())] for job in jobs]
    return first


def main(rounds=7, *sizes):
    """Print a table for each number of processes."""
    for size in sizes or (2, 4):
        sides = {"Retrograd": started(sys.executable, size)}
        if "TORCH_PYTHON" in os.environ:
            sides["gloo"] = started(os.environ["TORCH_PYTHON"], size, AS_TORCH="1")
        found = {name: [] for name in sides}
        for number in range(rounds + 1):
            for name, jobs in sides.items():
                times = a_round(jobs)
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
    if sys.argv[1:] == ["rank"]:
        rank()
    else:
        main(*map(int, sys.argv[1:]))
