"""Exchanges under way: who asks MPI whether they are done, how often, and when to give up.

NOTE [Progress]
1. MPI moves data only while somebody asks, and nothing that waits inside it can be interrupted. So
   a call is a generator of requests, its steps, and whoever advances it asks and takes a nap in
   between: the caller itself, or for calls beside it the one thread of the poller.
2. Exchanges of one lane go on one at a time, in the order of the calls. Who comes to an empty lane
   has charge of it: a caller that waits, until its exchange is done; else the poller, until the
   lane is empty. A caller hands on to the poller what came behind its own.
3. What a callback of a finished exchange starts in the same lane is done at once, before the next.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

from ....locks import new_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    Request = Callable[[], bool]  # whether a transfer is done; it goes on while it is asked
    Steps = Generator[Request, None, Any]

__all__ = ["Exchange", "Lane", "apart", "awaited", "unless_done"]

SPINS, YIELDS = 100, 1000  # how often to ask before the first nap, and before the first long one
SHORT, LONG = 5e-5, 5e-4  # seconds of a nap


class Lane(deque["Exchange"]):
    """Exchanges in the order of their calls; the first is under way."""

    owner: Any = None  # who has charge of it: an exchange, which is its caller's, or the poller
    stepped = False  # whether the poller is at it now


class Exchange:
    """A call under way: its steps, what is done `then`, whom it needs, and how long it waits."""

    def __init__(
        self,
        world: Any,
        call: str,
        steps: Steps,
        needs: Sequence[int],
        then: Callable[[Any], Any] | None = None,
        seconds: float | None = None,
        *,
        any_of: bool = False,
        counted: bool = False,
    ) -> None:
        self.world, self.call, self.steps, self.needs = world, call, steps, needs
        self.then, self.counted = then, counted  # whether it is one of the group's collectives
        self.seconds = world.timeout if seconds is None else seconds
        self.missing = len(needs) if any_of else 1  # so many of them gone are too many
        self.request: Request | None = None
        self.begun, self.over = 0.0, False
        self.future: Future[Any] = Future()
        self.result: Any = None

    def advance(self, look: bool) -> bool:
        """Whether it is done, by the steps that can be taken now. `look`: for what went wrong."""
        if not self.begun:
            self.begun = time.monotonic()
            self.world.check()
        try:
            while self.request is None or self.request():
                self.request = next(self.steps)
            if look:
                self.world.look(self)
            return False
        except StopIteration as end:
            found, self.request, self.over = end.value, None, True
        self.result = found if self.then is None else self.then(found)
        return True

    def failed(self, error: BaseException) -> None:
        """Break the group, if the steps are not all taken."""
        if not self.over:
            self.over = True
            self.world.hurt(self, error)

    def run(self, also: Callable[[], Any] | None = None) -> bool:
        """True, once it is done; `also` is called again and again meanwhile."""
        asked = 0
        try:
            while not self.advance(asked > SPINS):
                asked += 1
                if also is not None:
                    also()
                if asked > SPINS:
                    time.sleep(0 if asked < YIELDS else nap(asked))
        except BaseException as error:  # an interrupt comes between two steps, too
            self.failed(error)
            raise
        return True

    def fulfil(self, done: Callable[[], bool]) -> bool:
        """Whether it is done or failed; its future says so then."""
        try:
            if not done():
                return False
        except BaseException as error:
            self.failed(error)
            self.future.set_exception(error)
        else:
            self.future.set_result(self.result)
        return True

    def begin(self, lane: Lane) -> Future[Any]:
        """Its result beside the caller, after what is in the lane."""
        if POLLER.within(lane):
            self.fulfil(partial(self.run, POLLER.step))
            return self.future
        try:
            if POLLER.charges(lane, self):
                settled(lane)
        finally:
            if lane.owner is self:
                POLLER.take(lane)
        return self.future

    def wait(self, lane: Lane) -> Any:
        """Its result, once what is in the lane is done."""
        also = POLLER.step if POLLER.here() else None
        if POLLER.within(lane):
            self.run(also)
            return self.result
        try:
            if POLLER.charges(lane, self):
                self.run(also)
                return self.result
        finally:  # also where an interrupt comes before it is run
            if lane.owner is self:
                POLLER.leave(lane)
        return awaited(self.future)


def settled(lane: Lane, look: bool = False) -> bool:
    """Whether the first of a lane, advanced, is done or failed; it has left the lane then."""
    exchange = lane[0]
    if not (exchange.over or exchange.fulfil(partial(exchange.advance, look))):
        return False
    POLLER.leave(lane)
    return True


def nap(asked: int) -> float:
    """How long to sleep before asking again."""
    return min(LONG, SHORT * asked / YIELDS)


class Poller:
    """The thread that advances exchanges beside the program."""

    def __init__(self) -> None:
        self._lanes: list[Lane] = []  # those that it has charge of
        self._lock = new_lock()
        self._more = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None

    def charges(self, lane: Lane, exchange: Exchange) -> bool:
        """Put an exchange at the end of a lane; whether its caller has charge of that now."""
        with self._lock:
            if lane.owner is None:
                lane.owner = exchange
            lane.append(exchange)
            return lane.owner is exchange

    def take(self, lane: Lane) -> None:
        """Advance what is in a lane, from its first on."""
        with self._lock:
            self._take(lane)

    def leave(self, lane: Lane) -> None:
        """Remove the first of a lane, which is done; the poller takes what is behind it."""
        with self._lock:
            del lane[0]
            if lane:
                self._take(lane)
            else:
                lane.owner = None
                self._lanes = [other for other in self._lanes if other is not lane]

    def _take(self, lane: Lane) -> None:
        if lane.owner is not self:
            lane.owner = self
            self._lanes.append(lane)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()
        self._more.notify()

    def here(self) -> bool:
        """Whether the caller runs in this thread, as callbacks do."""
        return threading.current_thread() is self._thread

    def within(self, lane: Lane) -> bool:
        """Whether the caller is a callback of what a lane has done."""
        return self.here() and lane.stepped

    def step(self, look: bool = True) -> bool:
        """Advance all that can be advanced; whether anything was done."""
        found = False
        for lane in self._lanes:
            if not lane.stepped:
                lane.stepped = True
                while lane.owner is self and settled(lane, look):
                    found = True
                lane.stepped = False
        return found

    def _work(self) -> None:
        asked = 0
        while True:
            with self._more:
                while not self._lanes:
                    asked = 0
                    self._more.wait()
            asked = 0 if self.step(asked > SPINS) else asked + 1
            if asked > SPINS:
                time.sleep(nap(asked))


POLLER = Poller()


def apart(function: Callable[[], Any]) -> Steps:
    """The result of a call that waits within MPI, perhaps for ever: in a thread of its own."""
    found: Future[Any] = Future()

    def run() -> None:
        try:
            found.set_result(function())
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    yield found.done
    return found.result()


def awaited(future: Future[Any], seconds: float | None = None) -> Any:
    """The result of a future; a callback that waits for it lets the exchanges go on."""
    end = None if seconds is None else time.monotonic() + seconds
    while POLLER.here() and not future.done() and (end is None or time.monotonic() < end):
        POLLER.step()
        time.sleep(SHORT)
    return future.result(seconds)


def unless_done(lane: Lane) -> None:
    """Wait for all in a lane; not within one of its callbacks."""
    while lane and not POLLER.within(lane):
        time.sleep(SHORT)


def _forked() -> None:
    global POLLER  # whose thread is the parent's
    POLLER = Poller()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
