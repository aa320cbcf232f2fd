"""What a call that does not wait returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future
    from datetime import timedelta

__all__ = ["Work", "done"]


class Work:
    """A call that may be under way; `wait()` returns when this rank's part of it is done.

    >>> rg.distributed.init_process_group(rank=0, world_size=1)
    >>> work = rg.distributed.all_reduce(rg.ones(2), async_op=True)
    >>> work.wait(), work.is_completed()
    (True, True)
    >>> rg.distributed.destroy_process_group()
    """

    def __init__(self, under_way: Future[Any] | None = None) -> None:
        self._under_way = under_way

    def wait(self, timeout: timedelta | None = None) -> bool:
        """True, once it is done; raises what the call raised, TimeoutError if it takes longer."""
        if self._under_way is not None:
            self._under_way.result(None if timeout is None else timeout.total_seconds())
        return True

    def is_completed(self) -> bool:
        """Whether it is done, or failed."""
        return self._under_way is None or self._under_way.done()


def done(asked: bool) -> Work | None:
    """What a call returns that is done, where `async_op=True` asked for it."""
    return Work() if asked else None
