"""Versions of PyTorch as strings that compare as versions: PyTorch's `torch.torch_version`."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["FOLLOWED", "TorchVersion"]

PARTS = re.compile(r"(?:\d+!)?(\d+(?:\.\d+)*)")


class TorchVersion(str):
    """A version that compares with strings, with tuples of numbers and with its like.

    What follows the numbers, as "+cpu", is left out of comparisons; missing numbers are 0.

    >>> from retrograd.torch_version import TorchVersion
    >>> TorchVersion("2.13.0+retrograd") >= (2, 4), TorchVersion("2.13.0") > "2.9"
    (True, True)
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self._against(other, lambda a, b: a == b)  # type: ignore[no-any-return]

    def __ne__(self, other: object) -> bool:
        return self._against(other, lambda a, b: a != b)  # type: ignore[no-any-return]

    def __lt__(self, other: Any) -> bool:
        return self._against(other, lambda a, b: a < b)  # type: ignore[no-any-return]

    def __le__(self, other: Any) -> bool:
        return self._against(other, lambda a, b: a <= b)  # type: ignore[no-any-return]

    def __gt__(self, other: Any) -> bool:
        return self._against(other, lambda a, b: a > b)  # type: ignore[no-any-return]

    def __ge__(self, other: Any) -> bool:
        return self._against(other, lambda a, b: a >= b)  # type: ignore[no-any-return]

    __hash__ = str.__hash__

    def _against(self, other: Any, compare: Any) -> Any:
        mine, theirs = numbers(self), numbers(other)
        if theirs is None or mine is None:
            return NotImplemented
        length = max(len(mine), len(theirs))
        return compare(*(each + (0,) * (length - len(each)) for each in (mine, theirs)))


def numbers(version: Any) -> tuple[int, ...] | None:
    """The numbers of a version, or None for what is none."""
    if isinstance(version, (tuple, list)):
        version = ".".join(map(str, version))
    found = PARTS.match(version) if isinstance(version, str) else None
    return tuple(map(int, found[1].split("."))) if found else None


FOLLOWED = TorchVersion("2.13.0+retrograd")
