"""Watchers: whoever wants to see, for a while, every op call and every node of the calling thread.

NOTE [Free while nobody watches]
1. A caller keeps the op's forward in a closure cell. While any thread has a watcher, those cells
   hold a stand-in, which asks for the watchers of its thread and calls the forward through them.
   When the last watcher leaves, the cells get the forwards back. So the hot path has no question.
2. Formulas on arrays call forwards directly: they are not op calls, and are not seen. Formulas on
   tensors (`create_graph`) are.
3. A watcher counts as a mode that deviates, so every call ends in `record.finish`, which shows it
   the tensors, and every node of a backward pass in `Pass.step` or `Pass.leaf`.

This module knows no watcher: profilers and checkpoints are above.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from ... import modes
from ...locks import new_lock
from ..registry import OPS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..graph import Node
    from ..op import Op

__all__ = ["Watcher", "differentiate"]


class Watcher:
    """A context within which the op calls of the calling thread pass through the methods below.

    Of nested watchers the inner one is asked first, and hands on to the outer ones by `proceed`.
    """

    def compute(self, op: Op, arrays: Any, params: dict[str, Any], proceed: Any) -> Any:
        """The forward's result: `proceed(arrays, params)`, or whatever shall stand for it."""
        return proceed(arrays, params)

    def made(self, op: Op, inputs: Any, params: dict[str, Any], outputs: Sequence[Any]) -> None:
        """See the tensors of a call that has been recorded; None stands for an absent input."""

    def differentiate(self, node: Node, g: Any, proceed: Callable[[], Any]) -> Any:
        """What a node contributes in a backward pass, given its cotangent: `proceed()`."""
        return proceed()

    def __enter__(self) -> Any:
        STAND_INS.acquire()
        try:
            modes.change(watchers=(*modes.state.watchers, self))
        except BaseException:  # NOTE [Interrupts] of `modes`
            STAND_INS.release()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        watchers = modes.state.watchers
        last = max(i for i, watcher in enumerate(watchers) if watcher is self)
        try:
            modes.restore({"watchers": watchers[:last] + watchers[last + 1 :]})
        finally:
            STAND_INS.release()


class StandIns:
    """What the callers' cells hold while somebody watches, and how many do."""

    def __init__(self) -> None:
        self.lock = new_lock()
        self.users = 0
        self.places: list[tuple[Any, Any, Any]] = []  # of each op: cell, forward, stand-in

    def acquire(self) -> None:
        """Put the stand-ins in place, if this is the first user."""
        with self.lock:
            self.users += 1
            if self.users > 1:
                return
            if len(self.places) != sum([len(op.callers) for op in OPS.values()]):
                self.places = [
                    (cell_of(call), op.forward, stand_in(op))
                    for op in OPS.values()
                    for call in op.callers
                ]
            for cell, _, watched in self.places:
                cell.cell_contents = watched

    def release(self) -> None:
        """Put the forwards back, if this was the last user."""
        with self.lock:
            self.users -= 1
            if not self.users:
                for cell, forward, _ in self.places:
                    cell.cell_contents = forward

    def after_fork(self) -> None:
        """Count anew in a forked child: only the watchers of the thread that forked live on."""
        if self.users:
            self.users = len(modes.state.watchers) + 1
            self.release()


STAND_INS = StandIns()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=STAND_INS.after_fork)


def cell_of(call: Any) -> Any:
    """The closure cell in which a caller in Python keeps its op's forward."""
    return call.__closure__[call.__code__.co_freevars.index("forward")]


def stand_in(op: Op) -> Callable[..., Any]:
    """A forward that goes through the watchers of the thread that calls it."""
    forward, state = op.forward, modes.state

    def watched(*arrays: Any, **params: Any) -> Any:
        watchers = state.watchers
        return through(watchers, op, arrays, params) if watchers else forward(*arrays, **params)

    return watched


def through(watchers: tuple[Watcher, ...], op: Op, arrays: Any, params: dict[str, Any]) -> Any:
    """The result of `op` as the last of the watchers gives it."""
    if not watchers:
        return op.forward(*arrays, **params)
    return watchers[-1].compute(op, arrays, params, partial(through, watchers[:-1], op))


def differentiate(node: Node, g: Any, compute: Callable[[], Any]) -> Any:
    """What a node contributes, computed under the eyes of the thread's watchers."""
    for watcher in modes.state.watchers:
        compute = partial(watcher.differentiate, node, g, compute)
    return compute()
