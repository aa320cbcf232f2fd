"""Code that runs in several processes of one group."""

from __future__ import annotations

import contextlib
import json
import os
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


def ended(code, size=2, prelude=PRELUDE, **more):
    """How each of `size` processes ends that run the code in one group, and what it prints."""
    common = {**os.environ, "MASTER_ADDR": "127.0.0.1", "WORLD_SIZE": str(size), **more}
    with contextlib.ExitStack() as held:
        common["MASTER_PORT"] = str(held.enter_context(reserved(common["MASTER_ADDR"])))
        said = [
            [held.enter_context(tempfile.TemporaryFile("w+")) for _ in "oe"] for _ in range(size)
        ]
        jobs = [
            subprocess.Popen(
                [sys.executable, "-c", prelude + code],
                env={**common, "RANK": str(rank)},
                stdout=out,
                stderr=err,
            )
            for rank, (out, err) in enumerate(said)
        ]
        return wait(jobs), [(read(out), read(err)) for out, err in said]


def together(code, size=2, prelude=PRELUDE, **more):
    """What each of `size` processes prints, which run the code in one group and end well."""
    statuses, shown = ended(code, size, prelude, **more)
    report = "".join(
        f"rank {rank} ended with {status}\n{out}{err}"
        for rank, (status, (out, err)) in enumerate(zip(statuses, shown, strict=True))
    )
    assert not any(statuses), report
    assert not any(err for _, err in shown), report
    return [out.strip() for out, _ in shown]


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


def values(code, size=2):
    """What each process shows, as numbers."""
    return [json.loads(out) for out in together(code, size)]
