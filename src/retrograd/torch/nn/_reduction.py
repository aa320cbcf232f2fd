"""PyTorch's private names for what `reduction` of a loss says, as its programs import them."""

from __future__ import annotations

import warnings

from ...ops.loss.elementwise import OLDER, older_reduction

__all__ = ["get_enum", "legacy_get_enum", "legacy_get_string"]

NUMBERS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number of a reduction; ValueError for an unknown one.

    >>> from retrograd.nn import _reduction
    >>> [_reduction.get_enum(name) for name in ("none", "mean", "sum")]
    [0, 1, 2]
    """
    if reduction not in NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return NUMBERS[reduction]


def legacy_get_string(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> str:
    """The reduction that two older flags stand for, with a warning that they are older.

    >>> from retrograd.nn import _reduction
    >>> _reduction.legacy_get_string(False, None, emit_warning=False)
    'sum'
    """
    found = older_reduction(size_average, reduce)
    if emit_warning:
        warnings.warn(OLDER.format(found), stacklevel=2)
    return found


def legacy_get_enum(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> int:
    """The number of the reduction that two older flags stand for."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
