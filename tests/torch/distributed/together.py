"""Code that runs in several processes of one group.

NOTE [Ranks]
Starting processes and MPI takes longer than most tests. So there is one set of ranks for each size,
which runs the code of one test after the other, each in a namespace, a group of all and a random
state of its own. A set in which one failed is used no more. What is about the start, the end or the
environment of processes asks for `fresh` ones.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

from retrograd.torch.distributed.engine.connections import reserved

HANG = 300  # seconds after which processes are ended; no test depends on it

PRELUDE = f"""
import json, sys
from datetime import timedelta
import numpy as np
import retrograd as rg
from retrograd import distributed as dist, nn
from retrograd.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("gloo", timeout=timedelta(seconds={HANG // 2}))
rank, size = dist.get_rank(), dist.get_world_size()
def show(*values):
    print(json.dumps([[v.real.tolist(), v.imag.tolist()] if v.is_complex() else v.tolist()
                      for v in values]))
def error(call, *args):
    try:
        call(*args)
    except (RuntimeError, ValueError) as caught:
        print(type(caught).__name__, caught)
"""
SERVE = """
import contextlib, io, json, sys, traceback, warnings
import retrograd as rg
from retrograd import distributed as dist
answers = sys.stdout
for line in sys.stdin:
    out, err, status = io.StringIO(), io.StringIO(), 0
    rg.manual_seed(0)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            with warnings.catch_warnings(): exec(json.loads(line), {"__name__": "__main__"})
        except BaseException: traceback.print_exc(); status = 1
        if dist.is_initialized(): dist.destroy_process_group()
    print(json.dumps([status, out.getvalue(), err.getvalue()]), file=answers, flush=True)
"""


class Ranks:
    """Processes that run code after code: NOTE [Ranks]."""

    def __init__(self, size):
        self.held = contextlib.ExitStack()
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.jobs, said = start(SERVE, size, self.held, **pipes)
        self.errors = [error for _, error in said]

    def run(self, code):
        """The status of each, what it prints, and its errors."""
        for job in self.jobs:
            job.stdin.write(json.dumps(code).encode() + b"\n")
            job.stdin.flush()
        end, found = time.monotonic() + HANG, []
        for job, error in zip(self.jobs, self.errors, strict=True):
            there, _, _ = select.select([job.stdout], [], [], max(0.0, end - time.monotonic()))
            if not there:
                job.send_signal(signal.SIGABRT)  # PYTHONFAULTHANDLER shows what its threads do
            line = job.stdout.readline() if there else b""
            how = "before its answer" if there else f"by this test, after {HANG} s"
            found.append(json.loads(line) if line else [f"{job.wait()} {how}", "", read(error)])
        return found

    def close(self):
        """End the processes."""
        for job in self.jobs:
            job.stdin.close()
        wait(self.jobs)
        for job in self.jobs:
            job.stdout.close()
        self.held.close()


RANKS = {}  # by their number


@atexit.register
def close():
    """End all ranks."""
    while RANKS:
        RANKS.popitem()[1].close()


def start(code, size, held, more=(), **pipes):
    """`size` processes that run the code in one group, and files of what they print."""
    common = {**os.environ, "MASTER_ADDR": "127.0.0.1", "WORLD_SIZE": str(size), **dict(more)}
    common["MASTER_PORT"] = str(held.enter_context(reserved(common["MASTER_ADDR"])))
    opened = functools.partial(tempfile.TemporaryFile, "w+")
    said = [[held.enter_context(opened()) for _ in "oe"] for _ in range(size)]
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            env={**common, "RANK": str(rank)},
            **{"stdout": out, "stderr": err, **pipes},
        )
        for rank, (out, err) in enumerate(said)
    ]
    return jobs, said


def ended(code, size=2, prelude=PRELUDE, **more):
    """How each of `size` processes ends that run the code in one group, and what it prints."""
    with contextlib.ExitStack() as held:
        jobs, said = start(prelude + code, size, held, more)
        return wait(jobs), [(read(out), read(err)) for out, err in said]


def together(code, size=2, prelude=PRELUDE, fresh=False, **more):
    """What each of `size` processes prints, which run the code in one group and end well."""
    if fresh or more or prelude is not PRELUDE:
        statuses, shown = ended(code, size, prelude, **more)
        found = [(status, *texts) for status, texts in zip(statuses, shown, strict=True)]
    else:
        ranks = RANKS.pop(size, None) or Ranks(size)
        found = ranks.run(prelude + code)
        if any(status for status, *_ in found):
            ranks.close()
        else:
            RANKS[size] = ranks
    report = "".join(
        f"rank {rank} ended with {status}\n{out}{err}"
        for rank, (status, out, err) in enumerate(found)
    )
    assert not any(status or err for status, _, err in found), report
    return [out.strip() for _, out, _ in found]


def wait(jobs):
    """How processes end. One that hangs is ended, and tells where it was."""
    end = time.monotonic() + HANG
    try:
        for job in jobs:
            with contextlib.suppress(subprocess.TimeoutExpired):
                job.wait(max(0.0, end - time.monotonic()))
        for job in jobs:
            if job.poll() is None:
                os.kill(job.pid, signal.SIGABRT)  # PYTHONFAULTHANDLER shows what its threads do
        return [job.wait(HANG) for job in jobs]
    finally:
        for job in jobs:
            job.kill()
            job.wait()


def read(file):
    file.seek(0)
    return file.read()


def values(code, size=2, **more):
    """What each process shows, as numbers."""
    return [json.loads(out) for out in together(code, size, **more)]
