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
    """A thread that does tasks in turn. A process that ends does not wait for it."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[Any] = SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def submit(self, task: Callable[..., Any], *args: Any) -> Future[Any]:
        """What `task(*args)` will return or raise."""
        found: Future[Any] = Future()
        self._tasks.put((found, task, args))
        return found

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
        found, task, args = asked
        try:
            found.set_result(task(*args))
        except BaseException as error:
            found.set_exception(error)
        return True
