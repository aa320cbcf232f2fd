"""How long the parts of a program take, for `explain`.

NOTE [Times]
1. Each part runs alone, on copies of the arrays that it had, some times; the middle time counts.
   Loops run in turns, for most take less time than to look at the clock.
2. What would leave a trace, such as an optimizer's step or a draw, has the time that it took in
   the recording.
3. What fails on values that a later step has written, or draws within, has no time: 0.
"""

from __future__ import annotations

import timeit
from functools import partial
from itertools import repeat
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.memory import address, strided
from ..kernels.native import loops as in_c
from .loops import native
from .loops.lowering import Undrawn
from .loops.storages import like, owner_of
from .steps import Call

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Clock"]

RUNS = 5
TURNS = 32  # of a loop in each run


def spent(run: Any) -> float:
    """The nanoseconds that a call takes."""
    return 1e9 * median(timeit.repeat(run, number=1, repeat=RUNS))


class Copies(dict[str, Any]):
    """Copies of arrays, by the names of their slots, in memory as large as that of each."""

    def __init__(self, arrays: list[Any]) -> None:
        self.arrays = arrays

    def __missing__(self, name: str) -> Any:
        if name[0] != "v" or not name[1:].isdigit():
            raise KeyError(name)
        array = self.arrays[int(name[1:])]
        whole = owner_of(array)
        start = address(array) - address(whole)
        self[name] = strided(like(whole), array.shape, array.strides, start, array.dtype)
        return self[name]


class Clock:
    """Takes the times of parts of a program: NOTE [Times]."""

    def __init__(self, writer: Any) -> None:
        self.names, self.recording, self.called = writer.names, writer.recording, writer.called

    def times(self, source: Any) -> Iterable[float]:
        """The nanoseconds of a step or a line; those of each loop of a table."""
        if isinstance(source, Call) and source.reads:
            source = self.called(source)
        try:
            with Undrawn():
                if isinstance(source, str):
                    return [self.line(source)]
                if isinstance(source, tuple):
                    return self.loops(*source)
        except Exception:
            return repeat(0)
        return [self.recording.spent.get(source, 0)]

    def line(self, text: str) -> float:
        """The nanoseconds of a line that computes."""
        copies = Copies(self.recording.arrays)
        return spent(partial(exec, compile(text, "<a line>", "exec"), self.names, copies))

    def loops(self, table: Any, facts: Any, arrays: list[str]) -> list[float]:
        """The nanoseconds of each loop of a table: in order, for each reads what others write."""
        arena, copies = np.empty(table.arena, np.uint8), Copies(self.recording.arrays)
        given = [*[eval(name, self.names, copies) for name in arrays], arena]
        layout = native.layout([*facts, (arena, True)])
        words, at = np.array(memoryview(table.calls).cast("q")), 0
        times: dict[Any, float] = {}  # of kinds of loops
        found: list[float] = []
        for _, parts in table.rows:
            end = at + 3 + 2 * int(words[at + 1]) + int(words[at + 2])
            call = words[at:end].copy()
            kind = call[0], *call[3 + 2 * parts :]  # the function, and its sizes
            bases = call[3 : 3 + 2 * parts : 2]
            bases[bases == 0] = len(given)  # the arena
            turns = 1 if kind in times else TURNS
            run = partial(in_c.run_steps, call.tobytes() * turns, 0, layout)
            if kind in times:
                run(*given)
            else:
                times[kind] = spent(partial(run, *given)) / turns
            found.append(times[kind])
            at = end
        return found
