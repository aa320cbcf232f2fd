"""Errors of processes that a launcher started."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["record"]

F = TypeVar("F")


def record(function: F) -> F:
    """The function as it is: the launcher shows the error that a process writes to stderr.

    >>> from retrograd.distributed.elastic.multiprocessing.errors import record
    >>> record(len)([1, 2])
    2
    """
    return function
