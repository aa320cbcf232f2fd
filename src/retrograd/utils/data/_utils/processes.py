"""Worker processes: started, given tasks, asked for results, stopped, and missed when they die.

NOTE [Worker processes]
1. Each has a connection of its own, so that one that dies in the middle of a message spoils
   nobody else's.
2. In a worker a thread reads the tasks. So the loader never waits to send one while the worker
   waits to send a result; and the worker learns at once that the loader is done, or gone.
3. Whoever is forked has copies of the loader's ends of connections. Workers let go of theirs, so
   that a connection ends with the loader; for other forks' sake ends are shut down, not only
   closed, and a worker looks now and then whether its parent lives.
4. Only the process that started workers stops them, not a fork of it that drops the same iterator.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import pickle
import queue
import random
import shutil
import signal
import threading
import time
import weakref
from contextlib import suppress
from multiprocessing.context import BaseContext
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import providers, version
from ....kernels.native.threads import set_threads
from ....locks import held_interrupts, let_interrupts
from ....ops.random.generator import manual_seed
from .transport import Channel, folder_for_batches, packed
from .worker import Failure, _generate_state, work

if TYPE_CHECKING:
    from .worker import Job

__all__ = ["Processes", "checked_context"]

CHECKED = 5.0  # seconds after which a worker looks for its parent
GRANTED = 5.0  # seconds for workers to end by themselves

_open: weakref.WeakSet[Channel] = weakref.WeakSet()  # the loaders' ends


def checked_context(context: Any) -> Any:
    """A context of multiprocessing, given by itself or by the name of its start method."""
    if isinstance(context, str):
        known = multiprocessing.get_all_start_methods()
        if context not in known:
            raise ValueError(
                "multiprocessing_context option should specify a valid start method in "
                f"{[*known, 'thread']!r}, but got multiprocessing_context={context!r}"
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string "
            f"specifying the start method, but got multiprocessing_context={context}"
        )
    return context


class _Name(str):
    """The name of a process, which is read first of all there: with it comes the alias `torch`."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        return _named, (str(self),)


def _named(name: str) -> str:
    providers.service("alias").install()
    return name


class Processes:
    """The worker processes of a loader: NOTE [Worker processes]."""

    def __init__(self, job: Job, context: Any) -> None:
        context = context or multiprocessing.get_context()
        self.owner, self.stopped = os.getpid(), False
        self.folder = folder_for_batches()
        self.workers: list[Any] = []
        self.channels: list[Channel] = []
        try:
            for number in range(job.workers):
                self._start(job, number, context)
        except BaseException:
            self.stop()
            raise

    def _start(self, job: Job, number: int, context: Any) -> None:
        here, there = context.Pipe()
        self.channels.append(Channel(here, self.folder))
        _open.add(self.channels[-1])
        name: str = f"retrograd-data-{number}"
        if version.called == "torch":
            name = _Name(name)
        worker = context.Process(
            target=_run, args=(job, number, there, self.folder), name=name, daemon=True
        )
        with there, held_interrupts():  # else one that has begun might not be known
            worker.start()
            self.workers.append(worker)

    def put(self, number: int, task: Any) -> None:
        """Give a task to a worker; that it is dead will show when its results are missed."""
        message = pickle.dumps(task)
        with suppress(OSError, TypeError):  # the latter where it is closed amid the call
            self.channels[number].connection.send_bytes(message)

    def get(self, timeout: float) -> tuple[int, Any, Any]:
        """(worker, label, result), which come first; ConnectionError if a worker is dead.

        Raises TimeoutError after `timeout` seconds, unless they are 0.
        """
        try:
            return self._first(timeout)
        except Exception:  # of whatever kind, where a connection is closed amid its use
            if self.stopped and threading.current_thread().daemon:
                threading.Event().wait()  # the interpreter ends, and this thread with it
            raise

    def _first(self, timeout: float) -> tuple[int, Any, Any]:
        ends = [channel.connection for channel in self.channels]
        awaited = [*ends, *(worker.sentinel for worker in self.workers)]
        ready = multiprocessing.connection.wait(awaited, timeout or None)
        if not ready:
            raise TimeoutError
        for number, end in enumerate(ends):
            if end in ready:
                try:
                    label, head, buffers = self.channels[number].receive()
                except (EOFError, ConnectionError):
                    continue
                try:
                    return number, label, pickle.loads(head, buffers=buffers)
                except Exception as error:
                    return number, label, Failure.caught(error, f"in a batch of worker {number}")
        raise ConnectionError(self._dead())

    def _dead(self) -> str:
        dead: list[Any] = []
        until = time.monotonic() + GRANTED
        while not dead and time.monotonic() < until:
            multiprocessing.connection.wait([worker.sentinel for worker in self.workers], 0.1)
            dead = [worker for worker in self.workers if not worker.is_alive()]
        pids = ", ".join(str(worker.pid) for worker in dead)
        return f"DataLoader worker (pid(s) {pids}) exited unexpectedly{_ends(dead)}"

    def stop(self) -> None:
        """End the workers, by force those that do not in time, and forget what they have made."""
        if self.stopped or self.owner != os.getpid():
            return
        self.stopped = True
        for channel in self.channels:
            _open.discard(channel)
            channel.close()
        until = time.monotonic() + GRANTED
        for worker in self.workers:
            worker.join(max(0, until - time.monotonic()))
            for end in (worker.terminate, worker.kill):
                if worker.is_alive():
                    end()
                    worker.join(GRANTED)
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


def _ends(workers: list[Any]) -> str:
    """How processes ended, as the end of a sentence."""
    codes = {worker.exitcode for worker in workers}
    if len(codes) != 1:
        return ""
    code = codes.pop()
    if code < 0:
        return f": killed by signal: {signal.strsignal(-code) or -code}"
    return f": exit code {code}"


def _run(job: Job, number: int, connection: Any, folder: str | None) -> None:
    """What a worker process runs. Ctrl-C ends it without a word: the loader gets it, too."""
    with suppress(KeyboardInterrupt):
        let_interrupts()
        _serve(job, number, connection, folder)
    parent = multiprocessing.parent_process()
    if folder and parent and not parent.is_alive():
        shutil.rmtree(folder, ignore_errors=True)


def _serve(job: Job, number: int, connection: Any, folder: str | None) -> None:
    for inherited in list(_open):
        inherited.leave()
    set_threads(1)
    random.seed(job.seed + number)
    manual_seed(job.seed + number)
    np.random.seed(_generate_state(job.seed, number))
    job.tell(number, True)
    channel = Channel(connection, folder)
    tasks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    closed = threading.Event()
    where = f"in DataLoader worker process {number}"

    def read() -> None:
        parent = multiprocessing.parent_process()
        with suppress(EOFError, OSError):
            while connection.poll(CHECKED) or (parent and parent.is_alive()):
                if connection.poll(0):
                    tasks.put(connection.recv_bytes())
        closed.set()
        tasks.put(b"")

    def get() -> Any:
        message = tasks.get()
        return None if closed.is_set() else pickle.loads(message)

    def give(epoch: int, index: int, ended: bool, result: Any) -> None:
        try:
            made = packed(result)
        except Exception as error:
            kind = RuntimeError if isinstance(result, Failure) else type(error)
            failure = result if isinstance(result, Failure) else Failure.caught(error, where)
            made = packed(Failure(kind, failure.text, where))
        channel.send((epoch, index, ended), *made)

    threading.Thread(target=read, daemon=True).start()
    try:
        work(job, number, where, get, give)
    except OSError:
        if not closed.wait(GRANTED):
            raise
