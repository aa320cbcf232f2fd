"""What a call that does not wait returns."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..futures import Future
from .engine.progress import awaited

if TYPE_CHECKING:
    import concurrent.futures
    from collections.abc import Sequence
    from datetime import timedelta

__all__ = ["Work"]


class Work:
    """A call that is under way; `wait()` returns when this rank's part of it is done.

    >>> work = rg.distributed.all_reduce(rg.ones(2), async_op=True)
    >>> work.wait(), work.is_completed(), work.result()
    (True, True, [tensor([1., 1.])])
    """

    def __init__(self, under_way: concurrent.futures.Future[Any], tensors: Sequence[Any]) -> None:
        self._under_way, self._tensors = under_way, [*tensors]

    def wait(self, timeout: timedelta | None = None) -> bool:
        """True, once it is done; raises what the call raised, TimeoutError if it takes longer."""
        awaited(self._under_way, None if timeout is None else timeout.total_seconds())
        return True

    def synchronize(self) -> None:
        """`wait()`, without a result."""
        self.wait()

    def is_completed(self) -> bool:
        """Whether it is done, or failed."""
        return self._under_way.done()

    def exception(self) -> BaseException | None:
        """The error by which it failed, if it did."""
        return self._under_way.exception() if self._under_way.done() else None

    def result(self) -> list[Any]:
        """The tensors that it writes, once they are there."""
        self.wait()
        return self._tensors

    def get_future(self) -> Future[list[Any]]:
        """The future of `result()`. Its callbacks run in the thread that does the group's calls."""
        found: Future[list[Any]] = Future()
        self._under_way.add_done_callback(partial(_fulfil, found, self._tensors))
        return found


def _fulfil(found: Future[Any], tensors: Any, done: concurrent.futures.Future[Any]) -> None:
    error = done.exception()
    if error is None:
        found.set_result(tensors)
    else:
        found.set_exception(error)
