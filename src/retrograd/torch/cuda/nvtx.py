"""Marks in the profiles of NVIDIA's tools: nothing writes such profiles here, so all raise.

>>> rg.cuda.nvtx.mark("loaded")
Traceback (most recent call last):
    ...
RuntimeError: NVTX functions not installed. Are you sure you have a CUDA build? Retrograd runs on the cpu: record functions with retrograd.profiler.record_function(name).
"""  # noqa: E501

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from ..tables import define


def refuse() -> NoReturn:
    """Raise RuntimeError: there are no profiles of a GPU."""
    raise RuntimeError(
        "NVTX functions not installed. Are you sure you have a CUDA build? Retrograd runs on the "
        "cpu: record functions with retrograd.profiler.record_function(name)."
    )


@contextmanager
def span(msg: str, *args: Any, **kwargs: Any) -> Any:
    """Raise RuntimeError on entering."""
    yield refuse()


FUNCTIONS: dict[str, Any] = {
    "mark": (lambda msg: refuse(), "Mark a moment: RuntimeError."),
    "range_push": (lambda msg: refuse(), "Begin a span inside the last one: RuntimeError."),
    "range_pop": (lambda: refuse(), "End the last span: RuntimeError."),
    "range_start": (
        lambda msg: refuse(),
        "Begin a span that may end in another thread: RuntimeError.",
    ),
    "range_end": (lambda range_id: refuse(), "End such a span: RuntimeError."),
    "range": (span, "A context that is a span: RuntimeError on entering it."),
}
define(globals(), FUNCTIONS)
__all__ = list(FUNCTIONS)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the functions of the table
