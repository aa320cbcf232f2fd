"""NumPy's names for arguments, which PyTorch takes too: `axis` for `dim`, `keepdims`, `x2`.

A function that takes them collects unexpected keywords in `**names` and, if there are any, calls
itself again with the names that it knows. So a call with PyTorch's own names pays for nothing but
an empty dictionary.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__: list[str] = []

R = TypeVar("R")

ALIASES = {"axis": "dim", "keepdims": "keepdim", "x2": "other"}


def renamed(function: Callable[..., R], given: dict[str, Any]) -> R:
    """Call `function` again, with NumPy's names replaced; `given` are its locals on entry.

    Raises TypeError for a keyword that is no such name, and for an argument given twice.
    """
    arguments = dict(given)
    for name, value in arguments.pop("names").items():
        own = ALIASES.get(name)
        if own not in arguments:
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument '{name}'")
        if arguments[own] is not inspect.signature(function).parameters[own].default:
            raise TypeError(
                f"{function.__name__}() got multiple values for argument '{own}': '{name}' is "
                "another name for it"
            )
        arguments[own] = value
    return function(**arguments)
