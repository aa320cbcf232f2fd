"""The table of what kernels compute, by the names of ufuncs, and how functions enter it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BOOL", "COMPLEX", "DTYPES", "EMIT", "INTEGER", "REAL", "emits"]

BOOL, INTEGER, REAL, COMPLEX = "?", "bBhHiIlLqQ", "fd", "FD"

EMIT: dict[str, Callable[..., Any]] = {}
DTYPES: dict[str, str] = {}
FORMS: dict[tuple[str, str], Callable[..., Any]] = {}


def emits(names: str, dtypes: str) -> Callable[[Any], Any]:
    """Enter a function into the table under these names of ufuncs, for operands of these dtypes."""

    def enter(function: Any) -> Any:
        for name in names.split():
            FORMS.update({(name, char): function for char in dtypes})
            EMIT[name], DTYPES[name] = by_dtype(name), DTYPES.get(name, "") + dtypes
        return function

    return enter


def by_dtype(name: str) -> Callable[..., Any]:
    """What calls the function entered under a name for the dtype of the last operand."""
    return lambda *operands: FORMS[name, operands[-1].dtype.char](*operands)
