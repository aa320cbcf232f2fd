"""Storages: which memory each array of a recording shows, and where in it."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ...kernels.memory import address, strided

__all__ = [
    "Opaque",
    "Part",
    "Storage",
    "Storages",
    "bounds",
    "check_apart",
    "like",
    "owner_of",
    "steps_of",
]


class Opaque(Exception):  # noqa: N818 (no error)
    """A call has no native form; the text says why."""


class Storage:
    """Memory: of an array of the recording ("slot"), of an expansion ("inner"), or "constant"."""

    __slots__ = ("kind", "slot", "whole")

    def __init__(self, kind: str, slot: int, whole: Any) -> None:
        self.kind, self.slot, self.whole = kind, slot, whole


class Part(NamedTuple):
    """A part of a storage: where it begins in it, and how it goes on, in bytes."""

    storage: Any
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]


def owner_of(array: Any) -> Any:
    """The array whose memory another one shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def bounds(array: Any) -> tuple[int, int]:
    """The memory that an array takes: from its first byte to that behind the last."""
    if array.flags.c_contiguous:
        start = address(array)
        return start, start + array.nbytes
    return byte_bounds(array)


class Storages:
    """Which storage each array lies in, by the ranges of memory that live arrays take."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ranges: list[tuple[int, int, Any]] = []  # start, end, storage

    def find(self, array: Any) -> Any:
        """The storage that an array lies in, and where that begins; or None."""
        low, high = bounds(array)
        at = bisect_right(self.starts, low) - 1
        if at >= 0 and low < high <= self.ranges[at][1]:
            return self.ranges[at][2]
        return None

    def enter(self, array: Any, storage: Any) -> tuple[Any, int]:
        """Let the memory of an array be a storage; where that begins."""
        low, high = bounds(array)
        at = bisect_right(self.starts, low)
        before, after = self.ranges[at - 1 : at], self.ranges[at : at + 1]
        if (before and before[0][1] > low) or (after and after[0][0] < high):
            raise Opaque("memory of two arrays overlaps")
        self.starts.insert(at, low)
        entry = storage, address(array)
        self.ranges.insert(at, (low, high, entry))
        return entry

    def part(self, array: Any) -> Part:
        """The part of a storage that an array shows."""
        storage, start = self.find(array)
        return Part(storage, address(array) - start, array.shape, array.strides, array.dtype)


def like(array: Any, values: bool = True) -> Any:
    """A copy of an array that lies in memory exactly as it does, gaps included; or its `values` may
    be any."""
    low, high = bounds(array)
    room = np.zeros(high - low, np.uint8) if values else np.empty(high - low, np.uint8)
    made = strided(room, array.shape, array.strides, address(array) - low, array.dtype)
    if values:
        np.copyto(made, array)
    return made


def steps_of(array: Any) -> list[int]:
    """The strides of the dimensions that have any."""
    return [s for s, n in zip(array.strides, array.shape, strict=True) if n > 1]


def check_apart(out: Any, reads: Any) -> None:
    """Raise Opaque where what is written overlaps what is read, but for the very same elements."""
    for a in reads:
        same = a.strides == out.strides and a.shape == out.shape and address(a) == address(out)
        if not same and np.may_share_memory(a, out):
            raise Opaque("overlapping memory")
