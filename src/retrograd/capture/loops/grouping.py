"""Loops of one shape that follow each other become one loop.

NOTE [Groups]
1. A map joins a group where each element of it takes of what the group writes that element alone,
   and where it may come so early: no loop between them reads what it writes, or writes what it
   reads.
2. What a group makes and nobody else reads stays in registers. Who has written to the same memory
   before has then done nothing that is read: such a map is left out.
"""

from __future__ import annotations

import sys
from bisect import bisect
from typing import Any

from ...compiler.abstract import WITHOUT_VECTORS
from .primitives import Group, Loop
from .storages import Part

__all__ = ["arranged", "grouped", "living"]

LARGEST = 32  # loops of a group
BACK = 16  # how many groups before may be joined


def living(loops: list[Loop], inner: set[Any], may_fail: Any) -> list[Loop]:
    """The loops without those whose results, in storages that are `inner`, are never read."""
    kept: list[Loop] = []
    read: set[Any] = set()
    for loop in reversed(loops):
        if loop.out.storage not in inner or loop.out.storage in read or may_fail(loop):
            kept.append(loop)
            read |= {part.storage for part in loop.reads}
    return kept[::-1]


class Run:
    """Loops that may become a group."""

    def __init__(self, loop: Loop) -> None:
        self.loops: list[Loop] = []
        self.written: dict[Any, Part] = {}  # by storage
        self.touched: dict[Any, Part | None] = {}  # the only part that is read or written, or None
        self.add(loop)

    def add(self, loop: Loop) -> None:
        """One more loop."""
        self.loops.append(loop)
        self.written[loop.out.storage] = loop.out
        for part in loop.parts:
            if self.touched.setdefault(part.storage, part) != part:
                self.touched[part.storage] = None

    def may_have(self, loop: Loop, reads: list[Part]) -> bool:
        """Whether a map, which `reads` parts, may be computed with these, element by element."""
        first = self.loops[0]
        return (
            len(self.loops) < LARGEST
            and first.kind == loop.kind == "map"
            and first.out.shape == loop.out.shape
            and WITHOUT_VECTORS.isdisjoint((first.function, loop.function))
            and self.touched.get(loop.out.storage, loop.out) == loop.out
            and all(self.written.get(p.storage, p) == p for p in reads)
        )

    def meets(self, loop: Loop, reads: list[Part]) -> bool:
        """Whether these and a loop after them may not change places."""
        return loop.out.storage in self.touched or any(p.storage in self.written for p in reads)


def grouped(loops: list[Loop], inner: set[Any]) -> list[Any]:
    """The loops, those of one shape in groups: NOTE [Groups]; `inner` storages end with them."""
    runs: list[Run] = []
    for loop in loops:
        reads = loop.reads
        for run in reversed(runs[-BACK:]):
            if run.may_have(loop, reads):
                run.add(loop)
                break
            if run.meets(loop, reads):
                runs.append(Run(loop))
                break
        else:
            runs.append(Run(loop))
    found: list[Any] = []
    read: set[Any] = set()
    for run in reversed(runs):
        item: Any = run.loops[0]
        last = {loop.out: number for number, loop in enumerate(run.loops)}
        stored = [
            last[loop.out] == number and (loop.out.storage not in inner or loop.out.storage in read)
            for number, loop in enumerate(run.loops)
        ]
        if item.kind == "map" and not any(stored):
            continue
        if len(run.loops) > 1:
            item = Group(tuple(run.loops), tuple(stored))
        found.append(item)
        read |= {part.storage for part in item.parts}
    return found[::-1]


def arranged(used: list[list[Any]], placed: dict[Any, Any]) -> int:
    """Give storages, those `used` one after the other, a place in the arena; how large that is."""
    last: dict[Any, int] = {}
    for number, storages in enumerate(used):
        last |= dict.fromkeys(storages, number)
    gaps, size = [(0, sys.maxsize)], 0  # what is free
    ends: list[list[tuple[int, int]]] = [[] for _ in used]  # what is free after each
    for storages, free in zip(used, ends, strict=True):
        for storage in storages:
            if placed[storage] is None:
                needed = -(-storage.whole.nbytes // 64) * 64
                at = next(i for i, (low, high) in enumerate(gaps) if high - low >= needed)
                start, end = gaps[at][0], gaps[at][0] + needed
                gaps[at : at + 1] = [(end, gaps[at][1])] if end < gaps[at][1] else []
                placed[storage] = (0, start)
                ends[last[storage]].append((start, end))
                size = max(size, end)
        for start, end in free:
            at = bisect(gaps, (start, end))
            if gaps[at][0] == end:
                end = gaps.pop(at)[1]  # noqa: PLW2901
            if at and gaps[at - 1][1] == start:
                at -= 1
                start = gaps.pop(at)[0]  # noqa: PLW2901
            gaps.insert(at, (start, end))
    return size
