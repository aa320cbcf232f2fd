"""Marks in the profiles of NVIDIA's tools: nothing writes such profiles here, so all raise."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

ABSENT = (
    "NVTX functions not installed. Are you sure you have a CUDA build? Retrograd runs on the cpu: "
    "record functions with retrograd.profiler.record_function(name)."
)


def mark(msg: str) -> NoReturn:
    """Mark a moment: RuntimeError.

    >>> rg.cuda.nvtx.mark("loaded")
    Traceback (most recent call last):
        ...
    RuntimeError: NVTX functions not installed. Are you sure you have a CUDA build? Retrograd runs on the cpu: record functions with retrograd.profiler.record_function(name).
    """  # noqa: E501
    raise RuntimeError(ABSENT)


def range_push(msg: str) -> NoReturn:
    """Begin a span inside the last one: RuntimeError."""
    raise RuntimeError(ABSENT)


def range_pop() -> NoReturn:
    """End the last span: RuntimeError."""
    raise RuntimeError(ABSENT)


def range_start(msg: str) -> NoReturn:
    """Begin a span that may end in another thread: RuntimeError."""
    raise RuntimeError(ABSENT)


def range_end(range_id: int) -> NoReturn:
    """End such a span: RuntimeError."""
    raise RuntimeError(ABSENT)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A context that is a span: RuntimeError on entering it."""
    raise RuntimeError(ABSENT)
    yield
