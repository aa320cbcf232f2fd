"""Code that runs in several processes of one group."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

PRELUDE = """
import json, sys
from datetime import timedelta
import numpy as np
import retrograd as rg
from retrograd import distributed as dist, nn
from retrograd.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("gloo", timeout=timedelta(seconds=20))
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


def together(code, size=2, prelude=PRELUDE, **more):
    """What each of `size` processes prints, which run the code in one group."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    common = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    common |= {"WORLD_SIZE": str(size), **more}
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", prelude + code],
            env={**common, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]
    done = [job.communicate() for job in jobs]
    assert all(not err for _, err in done), done
    return [out.strip() for out, _ in done]


def values(code, size=2):
    """What each process shows, as numbers."""
    return [json.loads(out) for out in together(code, size)]
