"""Starts a program several times on this machine, as ranks of one group: PyTorch's `torchrun`.

retrograd run -m torch.distributed.run --nproc_per_node=2 script.py [args]

Each process gets PyTorch's variables of the environment, by which `init_process_group()` meets the
others. The first one that fails ends the rest, and its status is the command's.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from typing import Any

from .engine.connections import reserved

__all__ = ["main"]

ONE = "Retrograd starts processes on one machine: leave --nnodes out, or write --nnodes=1"
PAUSE = 0.05  # seconds between two looks at the processes
PATIENCE = 10.0  # seconds that a process has to end before it is killed
FAILED = "rank {rank} of {world} (process {pid}) ended with {status}: the others were stopped\n"


def main(args: list[str] | None = None) -> None:
    """Run a command line, by default the program's own, and wait for all processes.

    Raises SystemExit: with the status of the process that failed first, 128 + n where signal n
    ended it; with 2 where the line is wrong.

    >>> from retrograd.distributed.run import main
    >>> main(["--nnodes=2", "script.py"])
    Traceback (most recent call last):
    SystemExit: 2
    """
    parser = _parser()
    said = parser.parse_args(args)
    least, _, most = said.nnodes.partition(":")
    if {least, most or least} != {"1"} or said.node_rank:
        parser.error(ONE)
    for restart in range(said.max_restarts + 1):
        address, port = _meeting(said)
        with nullcontext(port) if port else reserved(address) as place:
            status = _together(_command(said), said.nproc_per_node, address, place, restart, said)
        if not status:
            return
    raise SystemExit(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("torch.distributed.run")

    def option(name: str, **how: Any) -> None:
        parser.add_argument(f"--{name}", f"--{name.replace('_', '-')}", **how)

    option("nnodes", default="1", help="number of machines: 1")
    option("nproc_per_node", type=_count, default=1, help="number of processes, or cpu: all cores")
    option("standalone", action="store_true", help="meet at a free port")
    option("master_addr", default="127.0.0.1", help="the address where rank 0 listens")
    option("master_port", type=int, default=29500, help="the port where rank 0 listens; 0: free")
    option("node_rank", type=int, default=0, help="the number of this machine: 0")
    option("rdzv_backend", default="static", help="static: at the given port; else: a free one")
    option("rdzv_endpoint", default="", help="host:port in place of --master_addr, --master_port")
    option("rdzv_id", default="none", help="the name of the run")
    option("rdzv_conf", default="", help="read over: there is nothing to set")
    option("use_env", action="store_true", help="the rank is in LOCAL_RANK, as it always is")
    option("max_restarts", type=int, default=0, help="how often all start again after a failure")
    option("no_python", action="store_true", help="the program is a command, not Python's")
    parser.add_argument("-m", "--module", action="store_true", help="the program is a module")
    parser.add_argument("training_script")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser


def _count(said: str) -> int:
    """How many processes: as said, or one for each core of the processor."""
    count = os.cpu_count() or 1 if said in ("auto", "cpu") else int(said)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{count} processes run nothing")
    return count


def _meeting(said: argparse.Namespace) -> tuple[str, int]:
    """Where the ranks meet; at a free port if that is 0."""
    host, _, port = said.rdzv_endpoint.rpartition(":")
    if said.standalone or said.rdzv_backend != "static":
        return "127.0.0.1", 0
    return host or said.master_addr, int(port) if port else said.master_port


def _command(said: argparse.Namespace) -> list[str]:
    """What each process runs: by `retrograd run` where this one means Retrograd by `torch`."""
    rest = [said.training_script, *said.training_script_args]
    if said.no_python:
        return rest
    alias = getattr(sys.modules.get("torch"), "Tensor", None)
    aliased = alias is not None and alias is sys.modules["retrograd"].Tensor
    runner = ["-m", "retrograd", "run"] if aliased else []
    return [sys.executable, "-u", *runner, *(["-m"] if said.module else []), *rest]


def _environment(
    rank: int, world: int, address: str, port: int, restart: int, said: argparse.Namespace
) -> dict[str, str]:
    """The variables of one process, by PyTorch's names."""
    own = {
        "RANK LOCAL_RANK ROLE_RANK": rank,
        "WORLD_SIZE LOCAL_WORLD_SIZE ROLE_WORLD_SIZE": world,
        "GROUP_RANK": 0,
        "GROUP_WORLD_SIZE": 1,
        "ROLE_NAME": "default",
        "MASTER_ADDR": address,
        "MASTER_PORT": port,
        "TORCHELASTIC_RESTART_COUNT": restart,
        "TORCHELASTIC_MAX_RESTARTS": said.max_restarts,
        "TORCHELASTIC_RUN_ID": said.rdzv_id,
    }
    named = {name: str(value) for names, value in own.items() for name in names.split()}
    threads = {"OMP_NUM_THREADS": "1"} if world > 1 else {}  # unless the user says how many
    return {**threads, **os.environ, **named}


def _together(command: list[str], world: int, *where: Any) -> int:
    """Run the processes; the status of the first that failed, or 0."""
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    running: list[subprocess.Popen[bytes]] = []
    try:
        for rank in range(world):
            running.append(subprocess.Popen(command, env=_environment(rank, world, *where)))
        while True:
            statuses = [process.poll() for process in running]
            for rank, status in enumerate(statuses):
                if status:
                    said = FAILED.format(
                        rank=rank, world=world, pid=running[rank].pid, status=status
                    )
                    sys.stderr.write(said)
                    return status if status > 0 else 128 - status
            if None not in statuses:
                return 0
            time.sleep(PAUSE)
    finally:
        _stop(running)
        signal.signal(signal.SIGTERM, before)


def _stop(running: list[subprocess.Popen[bytes]]) -> None:
    """End the processes that still run, by force where they do not obey."""
    for process in running:
        process.terminate()
    until = time.monotonic() + PATIENCE
    for process in running:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
