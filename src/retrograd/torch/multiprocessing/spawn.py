"""Several processes that run one function, and what becomes of them together."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import signal
import sys
import time
import traceback
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException",
    "SpawnContext", "spawn", "start_processes",
]  # fmt: skip

GRANTED = 30.0  # seconds in which the others end, once one has failed


class ProcessException(Exception):  # noqa: N818 (PyTorch's name)
    """One of several processes has failed: `error_index` says which, `error_pid` its number."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid, self.pid = msg, error_index, pid, pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process has raised; the message has its traceback."""


class ProcessExitedException(ProcessException):
    """A process has ended by a signal, or with an `exit_code` that is not 0."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: Any = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> Any:
        told = (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)
        return type(self), told


class ProcessContext:
    """Processes that were started together: see `start_processes`."""

    def __init__(self, processes: list[Any], ends: list[Any]) -> None:
        self.processes = processes
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}
        self.ends = dict(zip(ends, range(len(ends)), strict=True))  # until they have told something
        self.told: dict[int, str] = {}

    def pids(self) -> list[int]:
        """The numbers by which the system knows them."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one more has ended, at most `timeout` seconds; whether all have.

        If it failed, the others are ended, after `grace_period` seconds, and its error is raised:
        ProcessRaisedException with its traceback, or ProcessExitedException.
        """
        if not self.sentinels:
            return True
        until = None if timeout is None else time.monotonic() + timeout
        ready: list[Any] = [True]
        numbers: list[int] = []
        while ready and not numbers:
            left = None if until is None else max(0.0, until - time.monotonic())
            ready = multiprocessing.connection.wait([*self.sentinels, *self.ends], left)
            for end in self.ends.keys() & ready:  # a process waits until a long error is read
                self.hear(end)
            numbers = [self.sentinels.pop(each) for each in ready if each in self.sentinels]
        for i in numbers:
            self.processes[i].join()
        failed = [i for i in numbers if self.processes[i].exitcode]
        if failed:
            self.end(grace_period)
            self.fail(failed[0])
        return not self.sentinels

    def hear(self, end: Any) -> None:
        """Read what a process has told, if it has not ended without a word."""
        number = self.ends.pop(end)
        with suppress(EOFError, OSError), end:
            self.told[number] = end.recv()

    def end(self, grace_period: float | None) -> None:
        """End all processes, by force those that do not in time."""
        until = time.monotonic() + (grace_period or 0)
        for process in self.processes:
            process.join(max(0.0, until - time.monotonic()))
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        until = time.monotonic() + GRANTED
        for process in self.processes:
            process.join(max(0.0, until - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def fail(self, i: int) -> None:
        """Raise what process `i` failed by."""
        process = self.processes[i]
        if i in self.told:
            text = f"\n\n-- Process {i} terminated with the following error:\n{self.told[i]}"
            raise ProcessRaisedException(text, i, process.pid)
        code = process.exitcode
        name = signal.Signals(-code).name if code < 0 else None
        how = f"signal {name}" if name else f"exit code {code}"
        text = f"process {i} terminated with {how}"
        raise ProcessExitedException(text, i, process.pid, code, name)


SpawnContext = ProcessContext


def run_process(fn: Callable[..., Any], i: int, args: tuple[Any, ...], end: Any) -> None:
    """The main function of each process."""
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent gets it, too
    except Exception:
        end.send(traceback.format_exc())
        sys.exit(1)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in processes i = 0, ..., nprocs - 1, started by `start_method`.

    Returns None when all have ended, or at once, if `join` is False, what `join()` waits for. An
    error in one ends the others and is raised: see `ProcessContext.join`. `fn` is a function of a
    module. Tensors in `args` are shared by all. Source: PyTorch's `start_processes`.

    >>> x = rg.zeros(2).share_memory_()
    >>> rg.multiprocessing.start_processes(x.__setitem__, (1.0,), 2, start_method="fork"); x
    tensor([1., 1.])
    """
    context = multiprocessing.get_context(start_method)
    processes: list[Any] = []
    ends: list[Any] = []
    try:
        for i in range(nprocs):
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=run_process, args=(fn, i, args, there), daemon=daemon)  # type: ignore[attr-defined]
            with there:
                process.start()
            processes.append(process)
            ends.append(here)
    except BaseException:  # what cannot be sent, above all
        ProcessContext(processes, ends).end(0)
        raise
    started = ProcessContext(processes, ends)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """`start_processes` by processes that are started afresh. Source: PyTorch's `spawn`."""
    if start_method != "spawn":
        warnings.warn(
            f"spawn() only supports start_method=spawn (got: {start_method}). Write "
            "start_processes(..., start_method=...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon)
