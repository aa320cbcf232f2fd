"""Tasks that are done one after the other, beside the thread that asks for them."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Turns"]


class Turns:
    """A thread that does tasks in turn. A process that ends does not wait for it.

    A task that asks for another one, or a callback of its future, has that done at once.
    """

    def __init__(self) -> None:
        self._tasks: SimpleQueue[Any] = SimpleQueue()
        self._last = threading.Event()  # of the last task, set when it is done
        self._last.set()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def submit(self, task: Callable[..., Any], *args: Any) -> Future[Any]:
        """What `task(*args)` will return or raise."""
        found: Future[Any] = Future()
        if self._within():
            self._done((found, task, args, threading.Event()))
        else:
            self._last = threading.Event()
            self._tasks.put((found, task, args, self._last))
        return found

    def settle(self) -> None:
        """Wait for all tasks so far; not within one of them."""
        if not self._within():
            self._last.wait()

    def _within(self) -> bool:
        return threading.current_thread() is self._thread

    def end(self) -> None:
        """Let the thread end when all tasks are done."""
        self._tasks.put(None)

    def _work(self) -> None:
        while self._done(self._tasks.get()):
            pass

    def _done(self, asked: Any) -> bool:
        """Do a task, if it is one. Nothing of it is held while the thread waits for the next."""
        if asked is None:
            return False
        found, task, args, end = asked
        try:
            found.set_result(task(*args))
        except BaseException as error:
            found.set_exception(error)
        del asked, found, task, args  # the error's traceback has this frame
        end.set()
        return True
