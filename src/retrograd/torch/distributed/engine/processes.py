"""The processes of a run on this machine: started, watched, ended, and all started again.

NOTE [Launching]
1. Each process gets PyTorch's variables of the environment, by which `init_process_group()` meets
   the others, and its part of the machine's cores as the number of its threads.
2. The first process that fails ends all others, and its status is that of the run. All start again
   as one group, as often as is allowed.
3. Signals are passed on; after one that ends programs nothing starts again. Each process leads a
   group of its own, so Ctrl-C comes from here alone.
4. On several machines each has a launcher. They meet as ranks do, NOTE [Meeting] in `connections`,
   and tell each other before each start how many processes they have and where rank 0 will listen,
   then that theirs are done, or that one has failed. A launcher that dies ends the run.
"""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from .connections import read, reserved, write

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Run", "cores", "end"]

PAUSE = 0.05  # seconds between two looks at the processes
PATIENCE = 30.0  # seconds that a process has to end before it is killed
REST = 1.0  # seconds that the last of its output may take to come
TAIL = 1 << 16  # bytes of what it wrote last, among which its error is sought
FAILED = "rank {rank} of {world} (process {pid} on {host}) {how}{error}; the others were stopped\n"
LOST = "the launcher of machine {node} ended: all processes are stopped\n"
ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
PASSED = (*ENDING, "SIGUSR1", "SIGUSR2")
LINE = re.compile(rb"[^\r\n]*(?:\r\n|[\r\n])")
ERROR = re.compile(r"^[\w.]*(?:Error|Exception|Interrupt|Exit)\b.*", re.MULTILINE)
STARTED = re.compile(r"PMI_|PMIX_|OMPI_COMM_WORLD_")  # what tells MPI that mpiexec has started it


class Stopped(Exception):  # noqa: N818 (it need not be an error)
    """The processes are to be ended; the status of the run."""


class Run:
    """This machine's part of a run: NOTE [Launching]."""

    def __init__(self, said: Any, command: Sequence[str], node: int, line: Any) -> None:
        self.said, self.command, self.node, self.line = said, command, node, line
        self.heard: Any = defaultdict(dict)  # by what is said, and the number of the start
        self.signals: list[int] = []  # not passed on yet
        self.jobs: list[Job] = []
        self.start, self.over, self.number = 0, False, signal.SIGTERM

    def complete(self) -> int:
        """Run all processes; the status of the first that failed, or 0."""
        numbers = [getattr(signal, name) for name in PASSED if hasattr(signal, name)]
        before = {n: signal.signal(n, lambda n, _: self.signals.append(n)) for n in numbers}
        try:
            while status := self._round():
                self.start += 1
                if self.over or self.start > self.said.max_restarts:
                    return status
            if self.line:
                write(self.line, ["bye"])
            return 0
        finally:
            if self.line:
                self.line.close()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _round(self) -> int:
        """Start the processes, and wait for those of all machines; the status."""
        self.jobs, said = [], self.said
        fixed = self.node > 0 or (said.nnodes == 1 and said.master_port)
        try:
            with nullcontext(said.master_port) if fixed else reserved(said.master_addr) as port:
                ready = self._all("ready", said.nproc_per_node, port)
                self._begin([ready[node][0] for node in range(said.nnodes)], ready[0][1])
                running = True
                while running:
                    running = None in [job.process.poll() for job in self.jobs]
                    self._listen()
                self._all("done", 0)
            return 0
        except Stopped as stopped:
            return int(stopped.args[0])
        finally:
            end([job.process for job in self.jobs], self.number)
            for job in self.jobs:
                job.settle()

    def _begin(self, counts: Sequence[int], port: int) -> None:
        said, own = self.said, counts[self.node]
        common = {
            "WORLD_SIZE ROLE_WORLD_SIZE": sum(counts),
            "LOCAL_WORLD_SIZE": own,
            "GROUP_RANK": self.node,
            "GROUP_WORLD_SIZE": len(counts),
            "ROLE_NAME": said.role,
            "MASTER_ADDR": said.master_addr,
            "MASTER_PORT": port,
            "TORCHELASTIC_RESTART_COUNT": self.start,
            "TORCHELASTIC_MAX_RESTARTS": said.max_restarts,
            "TORCHELASTIC_RUN_ID": said.rdzv_id,
        }
        plain = {name: value for name, value in os.environ.items() if not STARTED.match(name)}
        if own > 1:
            plain.setdefault("OMP_NUM_THREADS", str(max(1, cores() // own)))
        for number in range(own):
            rank = sum(counts[: self.node]) + number
            given = {**common, "RANK ROLE_RANK": rank, "LOCAL_RANK": number}
            named = {name: str(v) for names, v in given.items() for name in names.split()}
            mark = f"[rank {rank}] ".encode() if said.tee == "3" else b""
            self.jobs.append(Job(self.command, plain | named, mark))

    def _say(self, kind: str, *said: Any) -> None:
        """Tell all machines, this one among them."""
        self.heard[kind, self.start][self.node] = said
        if self.line:
            with suppress(OSError):  # who listens learns of it
                write(self.line, [kind, self.start, *said])

    def _all(self, kind: str, *said: Any) -> dict[int, Any]:
        """What all machines say, once they have."""
        self._say(kind, *said)
        found: dict[int, Any] = self.heard[kind, self.start]
        while len(found) < self.said.nnodes:
            self._listen()
        return found

    def _listen(self) -> None:
        """Look at others, signals and processes; Stopped where the run cannot go on."""
        if not self.line:
            time.sleep(PAUSE)
        elif select.select([self.line], [], [], PAUSE)[0]:
            try:
                node, kind, start, *said = read(self.line)
            except OSError:
                node, kind = 0, "died"
            if kind == "died":
                self.over = True
                sys.stderr.write(LOST.format(node=node))
                raise Stopped(1)
            self.heard[kind, start][node] = said
        while self.signals:
            number = signal.Signals(self.signals.pop(0))
            if number.name in ENDING:
                self.over, self.number = True, number
                self._say("failed", 128 + number)
            else:
                signal_all([job.process for job in self.jobs], number)
        if failed := [job for job in self.jobs if job.process.poll()]:
            first = min(failed, key=lambda job: "DistNetworkError" in job.error())
            status = first.process.returncode
            sys.stderr.write(first.told())
            self._say("failed", status if status > 0 else 128 - status)
        for status, *_ in self.heard["failed", self.start].values():
            raise Stopped(status)


class Job:
    """A process, and what it wrote last."""

    def __init__(self, command: Sequence[str], env: dict[str, str], mark: bytes) -> None:
        self.env, self.mark, self.tail = env, mark, b""
        self.process = subprocess.Popen(
            command,
            env=env,
            stdout=subprocess.PIPE if mark else None,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        pipes = [(self.process.stdout, sys.stdout), (self.process.stderr, sys.stderr)]
        self.readers = [
            threading.Thread(target=self._pass_on, args=pair, daemon=True)
            for pair in pipes
            if pair[0]
        ]
        for reader in self.readers:
            reader.start()

    def _pass_on(self, pipe: Any, to: Any) -> None:
        """Write what comes, each line after the mark if there is one."""
        rest = b""
        with pipe:
            while more := pipe.read1(TAIL):
                if pipe is self.process.stderr:
                    self.tail = (self.tail + more)[-TAIL:]
                rest = self._written(rest + more, to)
            if rest:
                self._written(rest + b"\n", to)

    def _written(self, text: bytes, to: Any) -> bytes:
        """Write what is complete, and return the rest."""
        lines = LINE.findall(text) if self.mark else [text]
        with suppress(OSError, ValueError):  # nobody reads it
            to.buffer.write(b"".join(self.mark + line for line in lines))
            to.buffer.flush()
        return text[sum(map(len, lines)) :]

    def settle(self) -> None:
        """Wait for what it wrote last, which a process of its own may keep from ending."""
        for reader in self.readers:
            reader.join(REST)

    def error(self) -> str:
        """Its error, as far as it wrote one, after a colon."""
        self.settle()
        found = ERROR.findall(self.tail.decode(errors="replace"))
        return f": {found[-1].strip()}" if found else ""

    def told(self) -> str:
        """Who it is, and how it ended."""
        status = self.process.returncode
        by = f"was ended by signal {-status} ({signal.strsignal(-status)})" if status < 0 else ""
        return FAILED.format(
            rank=self.env["RANK"],
            world=self.env["WORLD_SIZE"],
            pid=self.process.pid,
            host=socket.gethostname(),
            how=by or f"ended with {status}",
            error=self.error(),
        )


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def signal_all(processes: Iterable[subprocess.Popen[Any]], number: int) -> None:
    """Send a signal to processes that lead groups, and to those in their groups."""
    for process in processes:
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)


def end(processes: Sequence[subprocess.Popen[Any]], number: int = signal.SIGTERM) -> None:
    """End those that still run, by force where they do not obey."""
    signal_all(processes, number)
    until = time.monotonic() + PATIENCE
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, until - time.monotonic()))
    signal_all(processes, signal.SIGKILL)
    for process in processes:
        process.wait()
