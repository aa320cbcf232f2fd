"""Versions of PyTorch as strings that compare as versions: PyTorch's `torch.torch_version`."""

from __future__ import annotations

import operator
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

    __hash__ = str.__hash__


def _comparison(compare: Any) -> Any:
    """A comparison of versions by their numbers."""

    def method(self: TorchVersion, other: Any) -> Any:
        mine, theirs = numbers(self), numbers(other)
        if theirs is None or mine is None:
            return NotImplemented
        length = max(len(mine), len(theirs))
        return compare(*(each + (0,) * (length - len(each)) for each in (mine, theirs)))

    return method


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(TorchVersion, f"__{_name}__", _comparison(getattr(operator, _name)))


def numbers(version: Any) -> tuple[int, ...] | None:
    """The numbers of a version, or None for what is none."""
    if isinstance(version, (tuple, list)):
        version = ".".join(map(str, version))
    found = PARTS.match(version) if isinstance(version, str) else None
    return tuple(map(int, found[1].split("."))) if found else None


FOLLOWED = TorchVersion("2.13.0+retrograd")
