"""Forwards of few numbers by loops in C: NOTE [Small] in `src/native/loops/small/small.c`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import loops
from .products import has_blas

if TYPE_CHECKING:
    from collections.abc import Callable


def quick(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let the loop called `name` compute a function of arrays where they are small and plain."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        return function if loops is None else loops.Small(function, name)

    return decorate


if loops is not None:
    loops.set_finder(has_blas)
