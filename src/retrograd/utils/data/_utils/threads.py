"""Worker threads, where processes are not to be had, or are not wanted."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any

from .worker import work

if TYPE_CHECKING:
    from .worker import Job

__all__ = ["NoThreadsError", "Threads"]


class NoThreadsError(RuntimeError):
    """No thread can be started, as in a browser."""


class Threads:
    """The worker threads of a loader.

    They share the data set and the default generator, which nobody seeds for them. Raises
    NoThreadsError where there are none.
    """

    def __init__(self, job: Job) -> None:
        self.results: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.tasks: list[queue.SimpleQueue[Any]] = []
        self.closed = threading.Event()
        self.workers: list[threading.Thread] = []
        for number in range(job.workers):
            tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
            worker = threading.Thread(
                target=_run, args=(job, number, tasks, self.results, self.closed), daemon=True
            )
            try:
                worker.start()
            except RuntimeError as error:
                self.stop()
                raise NoThreadsError from error
            self.tasks.append(tasks)
            self.workers.append(worker)

    def put(self, number: int, task: Any) -> None:
        """Give a task to a worker."""
        self.tasks[number].put(task)

    def get(self, timeout: float) -> tuple[int, Any, Any]:
        """(worker, label, result), which come first; TimeoutError after `timeout` seconds."""
        try:
            found: tuple[int, Any, Any] = self.results.get(timeout=timeout or None)
        except queue.Empty:
            raise TimeoutError from None
        return found

    def stop(self) -> None:
        """End the workers, when they are done with what they do now."""
        self.closed.set()
        for tasks in self.tasks:
            tasks.put(None)


def _run(job: Job, number: int, tasks: Any, results: Any, closed: threading.Event) -> None:
    """What a worker thread runs."""
    job.tell(number, False)

    def get() -> Any:
        task = tasks.get()
        return None if closed.is_set() else task

    def give(epoch: int, index: int, ended: bool, result: Any) -> None:
        results.put((number, (epoch, index, ended), result))

    work(job, number, f"in DataLoader worker thread {number}", get, give)
