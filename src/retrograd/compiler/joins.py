"""How reductions along rows are held, and how what is held is joined.

NOTE [Rows] in `sweeps`, rule 4, says how exact sums are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .values import Value, isnan, select

if TYPE_CHECKING:
    from collections.abc import Callable

    from .program import Call

__all__ = ["JOINS", "STARTS", "in_pairs", "in_tree", "parts_of", "wide"]

STARTS = {"sum": 0.0, "plain sum": 0.0, "max": -math.inf, "min": math.inf}


def wide(call: Call) -> Any:
    """The dtype in which a reduction is held."""
    return np.dtype(np.float64 if call.function == "sum" else call.dtype)


def in_pairs(call: Call) -> bool:
    """Whether a reduction is held as a sum and what rounding lost of it."""
    return call.function == "sum" and call.dtype == "d"


def parts_of(call: Call) -> int:
    """How many numbers of float64 hold an element of a sum across rows; 0 for any other value."""
    return 1 + in_pairs(call) if call.across else 0


def in_tree(join: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    """Values joined two by two; there are a power of two of them."""
    while len(values) > 1:
        values = [join(a, b) for a, b in zip(values[::2], values[1::2], strict=True)]
    return values[0]


def added(x: Value, high: Value, low: Value | None = None) -> tuple[Value, ...]:
    """x more than a sum; of a pair, exactly (D. Knuth). An infinite sum has no low part."""
    total = high + x
    if low is None:
        return (total,)
    moved = total - high
    lost = (high - (total - moved)) + (x - moved)
    return total, low + select(abs(total) < math.inf, lost, 0.0)


def larger(x: Value, held: Value) -> tuple[Value]:
    """The larger of two; NaN if one is."""
    return (select((x > held) | isnan(x), x, held),)


def smaller(x: Value, held: Value) -> tuple[Value]:
    """The smaller of two; NaN if one is."""
    return (select((x < held) | isnan(x), x, held),)


JOINS: dict[str, Callable[..., Any]] = {
    "sum": added,
    "plain sum": added,
    "max": larger,
    "min": smaller,
}
