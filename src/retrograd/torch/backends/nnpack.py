"""The switch of NNPACK, which is not used."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from .switches import is_available

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["flags", "is_available", "set_flags"]

enabled = True


def set_flags(_enabled: bool) -> tuple[bool]:
    """Switch it on or off, which changes no result; how it was, in a tuple."""
    global enabled
    before, enabled = (enabled,), bool(_enabled)
    return before


@contextmanager
def flags(enabled: bool = False) -> Iterator[None]:
    """A context in which it is switched on or off.

    >>> with rg.backends.nnpack.flags(enabled=False):
    ...     rg.backends.nnpack.enabled
    False
    """
    before = set_flags(enabled)
    try:
        yield
    finally:
        set_flags(*before)
