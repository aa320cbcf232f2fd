"""Results that are not there yet, by PyTorch's names: `torch.futures`.

A program fulfils them itself, from whatever thread; nothing of the package does.
"""

from __future__ import annotations

import threading
from concurrent import futures as python
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")

AGAIN = (
    "Attempting to mark a completed Future as complete again. Note that a Future can only be "
    "marked completed once."
)
UNFULFILLED = "value(): the Future is not completed. Wait for it: future.wait()"


class Future(python.Future[T]):
    """A result that comes later: `set_result` or `set_exception` sets it, `wait` returns it.

    It is a future of Python's with PyTorch's names, which can be fulfilled once. `devices` may name
    the cpu alone. Source: PyTorch's `futures.Future`.

    >>> future = rg.futures.Future()
    >>> doubled = future.then(lambda done: 2 * done.value())
    >>> future.set_result(rg.tensor(3))
    >>> future.done(), doubled.wait()
    (True, tensor(6))
    """

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        if any(str(device).partition(":")[0] != "cpu" for device in devices or ()):
            raise ValueError(f"Future(): there are no devices but the cpu, got {devices}")
        super().__init__()

    def wait(self) -> T:
        """The result, once it is there; raises the error, if that is what came."""
        return self.result()

    def value(self) -> T:
        """The result, or its error raised; RuntimeError before one of them is there."""
        if not self.done():
            raise RuntimeError(UNFULFILLED)
        return self.result()

    def set_result(self, result: T) -> None:
        """Fulfil it; RuntimeError where that was done before."""
        try:
            super().set_result(result)
        except python.InvalidStateError:
            raise RuntimeError(AGAIN) from None

    def set_exception(self, result: BaseException | None) -> None:
        """Let it end by an error; RuntimeError where it was fulfilled before."""
        if not isinstance(result, BaseException):
            raise TypeError(f"{result} is of type {type(result)}, not an Exception.")
        try:
            super().set_exception(result)
        except python.InvalidStateError:
            raise RuntimeError(AGAIN) from None

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """The future of `callback(self)`, which runs when this one is done, at once if it is.

        An error in `callback` is that of the new one.
        """
        after: Future[S] = Future()

        def run(done: Any) -> None:
            try:
                after.set_result(callback(done))
            except BaseException as error:
                after.set_exception(error)

        self.add_done_callback(run)
        return after


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """The future of all of them, as a list, done when they are; its error is the first of theirs.

    >>> first, second = rg.futures.Future(), rg.futures.Future()
    >>> both = rg.futures.collect_all([first, second])
    >>> first.set_result(1); second.set_result(2)
    >>> [future.value() for future in both.wait()]
    [1, 2]
    """
    every = list(futures)
    after: Future[list[Future[Any]]] = Future()
    lock, left = threading.Lock(), [len(every)]

    def end() -> None:
        errors = [error for future in every if (error := future.exception())]
        if errors:
            after.set_exception(errors[0])
        else:
            after.set_result(every)

    def one_done(_: Any) -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            end()

    if not every:
        end()
    for future in every:
        future.add_done_callback(one_done)
    return after


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """The results of all, once they are there; raises the first error.

    >>> future = rg.futures.Future()
    >>> future.set_result(1)
    >>> rg.futures.wait_all([future])
    [1]
    """
    return [future.wait() for future in collect_all(futures).wait()]
