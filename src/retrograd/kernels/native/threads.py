"""How many threads the loops in C may use: NOTE [Pool] in `src/native/loops/pool.c`.

Never more than the processors that this process may run on, nor than its share of their time in a
container. Fewer where `RETROGRAD_NUM_THREADS` says so, or else `OMP_NUM_THREADS`, and after
`set_threads`.
"""

from __future__ import annotations

import os

from . import loops

CGROUP = "/sys/fs/cgroup"


def quota(root: str = CGROUP) -> float:
    """How many processors' time the container grants, of version 2 or 1; else infinity."""
    try:
        with open(f"{root}/cpu.max") as file:
            granted, period = file.read().split()
    except (OSError, ValueError):
        try:
            with (
                open(f"{root}/cpu/cpu.cfs_quota_us") as first,
                open(f"{root}/cpu/cpu.cfs_period_us") as second,
            ):
                granted, period = first.read().strip(), second.read().strip()
        except OSError:
            return float("inf")
    return int(granted) / int(period) if granted.isdigit() and int(period) else float("inf")


def available() -> int:
    """How many threads can run at once."""
    if hasattr(os, "sched_getaffinity"):
        processors = len(os.sched_getaffinity(0))
    else:
        processors = os.cpu_count() or 1
    return max(1, int(min(processors, quota() + 0.5)))


def asked_for() -> int | None:
    """The number in the environment, if there is one."""
    for name in ("RETROGRAD_NUM_THREADS", "OMP_NUM_THREADS"):
        first = os.environ.get(name, "").split(",")[0].strip()
        if first.isdigit() and int(first):
            return int(first)
    return None


LIMIT = available()
_threads = asked_for() or LIMIT


def threads() -> int:
    """The number that was asked for last; loops use at most `available()`."""
    return _threads


def set_threads(count: int) -> None:
    """Let loops use `count` threads, as far as they are available."""
    global _threads
    _threads = count
    if loops is not None:
        loops.set_threads(min(count, LIMIT))


set_threads(_threads)
