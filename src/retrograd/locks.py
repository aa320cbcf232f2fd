"""The locks of the library, and what becomes of them in a process made by `os.fork`.

NOTE [Locks]
1. No lock is held while code of the user's runs: hooks, Functions, pack and unpack hooks.
2. All are re-entrant, because the garbage collector may call code of the user's anywhere, and that
   code may come back to the same lock.
3. A forked child has only the thread that forked. A lock that another thread held at that moment
   would stay locked in the child for ever, and what it guards might be half written. So whoever
   forks takes all locks first, and parent and child both let go of them.
4. Locks are taken in the order in which they were made, so that no two threads wait for each other.
   `LEAVES` come first: adding to a gradient counts a write, which takes `structure`.
5. The interpreter's own locks of modules stay locked in a child, too. So what the package imports
   on demand goes through `load`, and whoever forks waits until nobody else does so. Nothing is
   loaded while one of the locks here is held. Where an import fails, as by an interrupt, the
   interpreter forgets a package, but none of its subpackages: the next import might begin in one
   of them, and run the modules in an order that no import has had. So they are forgotten, too.
6. Ctrl-C during a fork would end what is registered here for it in the middle, and be lost, as
   the interpreter drops such errors. So it waits until the fork is over: `hold_interrupts`.

This module knows nothing of what the locks guard.
"""

from __future__ import annotations

import _thread
import importlib
import os
import sys
import threading
import time
import weakref
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType, ModuleType

__all__ = [
    "LEAVES", "ONE_AT_A_TIME", "counter", "forget_orphans", "held_interrupts", "let_interrupts",
    "load", "new_lock", "structure",
]  # fmt: skip

# Whether the interpreter lock is there: CPython lets another thread go on only where it calls.
ONE_AT_A_TIME: bool = getattr(sys, "_is_gil_enabled", lambda: True)()

OWN = f"{__package__}."
COPY = (
    "this copy of {package} cannot load {name}: it was taken out of sys.modules, and the package "
    "may have been imported anew. Use the new one (import {package}), and no objects of this copy"
)

_forking = threading.RLock()  # one fork at a time, since `_held` is shared
_held: list[Any] = []  # the locks that the one who forks has taken
_gate = threading.RLock()  # taken to begin to load, and for a fork
_loaders: list[int] = []  # the threads that load something
_handlers: list[Any] = []  # those of Ctrl-C, while it waits
_interrupted: list[int] = []  # the processes to which it came meanwhile
_alive: dict[int, weakref.ref[Any]] = {}  # by age, oldest first
_numbers = count()


def new_lock() -> Any:
    """A re-entrant lock that a forked child finds free."""
    lock = threading.RLock()
    number = next(_numbers)
    _alive[number] = weakref.ref(lock, lambda _: _alive.pop(number, None))
    return lock


def counter(start: int = 0) -> Callable[[], int]:
    """A function that gives `start` and the numbers after it, each to one caller only.

    The interpreter lock makes `itertools.count` safe; without that lock, one of our own does.
    """
    number = count(start).__next__
    if ONE_AT_A_TIME:
        return number
    lock = new_lock()

    def locked() -> int:
        with lock:
            return number()

    return locked


LEAVES = [new_lock() for _ in range(64)]  # a leaf takes one of them while its `.grad` is added to
structure = new_lock()  # what is made on demand: version cells, lists of views, tables of hooks


def load(name: str, package: str | None = None) -> ModuleType:
    """Import a module on demand: NOTE [Locks], 5.

    Raises ImportError in a copy of the package that is no longer the one in `sys.modules`: what it
    loaded would be of the other one.
    """
    own = package is not None or name.startswith(OWN)
    if own and getattr(sys.modules.get(__name__), "load", None) is not load:
        raise ImportError(COPY.format(package=__package__, name=name))
    me = threading.get_ident()
    with _gate:
        _loaders.append(me)
    try:
        return importlib.import_module(name, package)
    except BaseException:
        forget_orphans()
        raise
    finally:
        _loaders.remove(me)


def forget_orphans() -> None:
    """Forget the subpackages of packages whose import has failed: NOTE [Locks], 5."""
    for known, module in sorted(sys.modules.items()):
        orphan = known.startswith(OWN) and known.rpartition(".")[0] not in sys.modules
        if orphan and hasattr(module, "__path__"):
            del sys.modules[known]


def hold_interrupts() -> None:
    """Let Ctrl-C wait, where it is this thread's and has a handler, until `let_interrupts`."""
    signal = load("signal")
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is threading.main_thread() and callable(handler):
        _handlers.append(signal.signal(signal.SIGINT, _note))


def _note(*_: Any) -> None:
    _interrupted.append(os.getpid())


def let_interrupts(deliver: Callable[[], Any] | None = None) -> None:
    """Call the handler of a Ctrl-C that has waited; let `deliver` have it called instead."""
    if not _handlers or threading.current_thread() is not threading.main_thread():
        return
    signal = load("signal")
    signal.signal(signal.SIGINT, _handlers.pop())
    came = os.getpid() in _interrupted
    if not _handlers:
        _interrupted.clear()
        if came:
            deliver() if deliver else signal.raise_signal(signal.SIGINT)


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Let Ctrl-C wait for the end of this context."""
    hold_interrupts()
    try:
        yield
    finally:
        let_interrupts()


def _before_fork() -> None:
    hold_interrupts()
    me = threading.get_ident()
    for lock in (_forking, _gate):
        lock.acquire()
        _held.append(lock)
    while any(loader != me for loader in _loaders):
        _gate.release()
        time.sleep(1e-3)
        _gate.acquire()
    for ref in list(_alive.values()):
        held = ref()
        if held is not None:
            held.acquire()
            _held.append(held)


def _after_fork() -> None:
    caller = sys._getframe().f_back
    place = -1 if caller is None else caller.f_lasti
    try:
        let_interrupts(lambda: _thread.start_new_thread(_interrupt, (caller, place)))
    finally:
        while _held:
            _held.pop().release()


def _interrupt(caller: Any, place: int) -> None:
    """Have the main thread call its handler of Ctrl-C once its call of `fork` has returned.

    What a handler raises is lost while functions that others have registered run after the fork.
    It is a signal, as `_thread.interrupt_main` would let the thread sleep on.
    """
    signal, main = load("signal"), threading.main_thread().ident or 0
    while caller in _stack(sys._current_frames()[main]) and caller.f_lasti == place:
        time.sleep(1e-3)
    signal.pthread_kill(main, signal.SIGINT)


def _stack(frame: FrameType | None) -> Iterator[Any]:
    while frame is not None:
        yield frame
        frame = frame.f_back


if hasattr(os, "register_at_fork"):  # where there is a fork
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
