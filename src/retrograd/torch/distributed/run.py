"""Starts a program several times, as ranks of one group: PyTorch's `torchrun`.

retrograd launch -n 4 script.py [args]
retrograd run -m torch.distributed.run --nproc_per_node=4 script.py [args]

Here it is read what to start, and where; the rest is NOTE [Launching] in `engine.processes`.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import shlex
import subprocess
import sys
from typing import Any

from .engine.connections import KEY, DistNetworkError, meet
from .engine.processes import Run, cores, end

__all__ = ["main"]

COMING, CALLED = 900.0, 120.0  # seconds that other machines may take, and those that ssh calls
FIRST = re.compile(r"([^\[,]+)(?:\[(\d+)[^\]]*\]([^\[,]*))?")  # in Slurm's list of machines
SENT = re.compile(r"PATH$|LD_|PYTHON|RETROGRAD_|OMP_|MPI|FI_|UCX_")  # variables that ssh is given


def main(args: list[str] | None = None) -> None:
    """Run a command line, by default the program's own, and wait for all processes.

    An option may also be said by a variable, as PET_NNODES for --nnodes. Raises SystemExit: with
    the status of the process that failed first, 128 + n where signal n ended it; with 2 where the
    line is wrong.

    >>> from retrograd.distributed.run import main
    >>> main(["--nnodes=1:4", "script.py"])
    Traceback (most recent call last):
    SystemExit: 2
    """
    given = sys.argv[1:] if args is None else args
    parser, called = _parser(), list[subprocess.Popen[Any]]()
    said = parser.parse_args(given)
    try:
        called += [_called(*machine, said, given) for machine in _machines(said)]
        status = Run(said, _command(said), *_met(said, CALLED if called else COMING)).complete()
        end(called, 0)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    except DistNetworkError as error:
        parser.exit(1, f"the launchers of {said.nnodes} machines did not meet: {error}\n")
    finally:
        end(called)
    if status:
        raise SystemExit(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("retrograd launch")

    def option(name: str, *short: str, default: Any = None, **how: Any) -> None:
        names = dict.fromkeys([*short, f"--{name}", f"--{name.replace('_', '-')}"])
        default = os.environ.get(f"PET_{name.upper()}", default)
        parser.add_argument(*names, default=default, **how)

    option("nproc_per_node", "-n", type=_count, help="number of processes here, or cpu: all cores")
    option("max_restarts", type=int, default=0, help="how often all start again after a failure")
    option("tee", "-t", choices="03", default="0", help="3: each line begins with its rank")
    option("nnodes", help="number of machines")
    option("hosts", help="file of machines, NAME or NAME:PROCESSES in a line; this is the first")
    option("node_rank", type=int, help="the number of this machine, from 0")
    option("master_addr", default="127.0.0.1", help="the address of machine 0")
    option("master_port", type=int, default=0, help="the port where all meet; 0: any, or 29500")
    option("rdzv_endpoint", default="", help="host:port in place of --master_addr, --master_port")
    option("rdzv_backend", default="static", help="all mean the same")
    option("rdzv_id", default="none", help="the name of the run")
    option("rdzv_conf", default="", help="read over: there is nothing to set")
    option("role", default="default", help="what ROLE_NAME says")
    option("standalone", action="store_true", help="one machine, any port")
    option("use_env", action="store_true", help="the rank is in LOCAL_RANK, as it always is")
    option("no_python", action="store_true", help="the program is a command, not Python's")
    option("module", "-m", action="store_true", help="the program is a module")
    parser.add_argument("training_script")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser


def _count(said: str) -> int:
    """How many processes: as said, or one for each core of the processor."""
    count = cores() if said in ("auto", "cpu") else int(said)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{count} processes run nothing")
    return count


def _command(said: argparse.Namespace) -> list[str]:
    """What each process runs: by `retrograd run` where this one means Retrograd by `torch`."""
    rest = [said.training_script, *said.training_script_args]
    if said.no_python:
        return rest
    runner = ["-m", "retrograd", "run"] if _aliased() else []
    return [sys.executable, "-u", *runner, *(["-m"] if said.module else []), *rest]


def _aliased() -> bool:
    alias = getattr(sys.modules.get("torch"), "Tensor", None)
    return alias is not None and alias is sys.modules["retrograd"].Tensor


# -- machines --------------------------------------------------------------------------------------


def _machines(said: argparse.Namespace) -> list[tuple[int, str, str]]:
    """Complete what is said of machines; the number, name and processes of those to be called."""
    env, calls = os.environ, []
    host, _, port = said.rdzv_endpoint.rpartition(":")
    if host:
        said.master_addr, said.master_port = host.strip("[]"), int(port)
    if said.hosts and "PET_NODE_RANK" not in env:  # else this one was called
        (_, said.master_addr, count), *calls = _named(said.hosts)
        said.nnodes, said.node_rank = 1 + len(calls), 0
        said.nproc_per_node = said.nproc_per_node or int(count)
        env.setdefault(KEY, secrets.token_hex())
    elif said.nnodes is None and int(env.get("SLURM_STEP_NUM_NODES", 1)) > 1:
        name = FIRST.match(env["SLURM_STEP_NODELIST"])
        said.master_addr = "".join(part or "" for part in name.groups()) if name else ""
        said.master_port = said.master_port or 10000 + int(env["SLURM_JOB_ID"]) % 20000
        said.nnodes, said.node_rank = env["SLURM_STEP_NUM_NODES"], int(env["SLURM_NODEID"])
    least, _, most = str(said.nnodes or 1).partition(":")
    if most not in ("", least):
        raise ValueError(f"--nnodes={said.nnodes}: the number of machines stays the same")
    said.nnodes = 1 if said.standalone else int(least)
    if said.node_rank is not None and not 0 <= said.node_rank < said.nnodes:
        raise ValueError(f"--node_rank={said.node_rank}: machines are 0 to {said.nnodes - 1}")
    if said.nnodes > 1:
        said.master_port = said.master_port or 29500
    said.nproc_per_node = said.nproc_per_node or 1
    return calls


def _named(path: str) -> list[tuple[int, str, str]]:
    """The machines in a file: lines such as `a`, `a:4` and `a slots=4`."""
    with open(path) as file:
        lines = [re.sub(r"\s+slots=", ":", line.partition("#")[0].strip()) for line in file]
    parts = [line.partition(":") for line in lines if line]
    if not parts:
        raise ValueError(f"{path} names no machine")
    return [(number, name, count or "1") for number, (name, _, count) in enumerate(parts)]


def _called(
    number: int, name: str, count: str, said: argparse.Namespace, given: list[str]
) -> subprocess.Popen[Any]:
    """The launcher of another machine, which ssh starts as this one was started."""
    variables = {
        **{name: value for name, value in os.environ.items() if SENT.match(name)},
        "PET_NODE_RANK": number,
        "PET_NNODES": said.nnodes,
        "PET_NPROC_PER_NODE": count,
        "PET_MASTER_ADDR": said.master_addr,
        "PET_MASTER_PORT": said.master_port,
    }
    module = ["retrograd", "launch"] if _aliased() else ["retrograd.torch.distributed.run"]
    lines = [
        f"cd {shlex.quote(os.getcwd())}",
        *(f"export {name}={shlex.quote(str(value))}" for name, value in variables.items()),
        f"exec {shlex.join([sys.executable, '-m', *module, *given])}\n",
    ]
    command = ["ssh", name, "sh -s"]  # what it reads is seen by nobody, as a command is
    ssh = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    place: Any = ssh.stdin
    with place:
        place.write("\n".join(lines).encode())
    return ssh


def _met(said: argparse.Namespace, seconds: float) -> tuple[int, Any]:
    """This machine's number, and the line to the others; a number that is free, if none is said."""
    if said.nnodes == 1:
        return 0, None
    numbers = [said.node_rank] if said.node_rank is not None else [*range(said.nnodes)]
    while True:
        number = numbers.pop(0)
        try:
            line, _ = meet(said.master_addr, said.master_port, number, said.nnodes, seconds)
            return number, line
        except DistNetworkError as error:
            if not numbers or isinstance(error.__cause__, TimeoutError):
                raise


if __name__ == "__main__":
    main()
