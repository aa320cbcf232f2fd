"""Arguments beside a function's own: NumPy's names for them, and `out=`.

1. PyTorch takes `axis` for `dim`, `keepdims`, `x2`. A function that does so collects unexpected
   keywords in `**names` and, if there are any, calls itself again with the names that it knows
   (`renamed`). So a call with PyTorch's own names pays for nothing but an empty dictionary.
2. `write_value` and `write_each` serve `out=` where the result is at hand, or there are several.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from ...engine.dispatch import write_out
from ...engine.tensor import Tensor

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


def write_value(value: Tensor, out: Tensor, name: str) -> Tensor:
    """Write the result `value` of the function called `name` into `out`; errors as `write_out`."""

    def result(source: Tensor) -> Tensor:
        return source

    result.__name__ = name
    return write_out(result, out, (value,), {})  # type: ignore[no-any-return]


def check_outs(name: str, outs: Any, number: int) -> None:
    """Raise unless `outs` is a sequence of as many tensors as the function called `name` gives."""
    if not isinstance(outs, (tuple, list)) or not all(isinstance(t, Tensor) for t in outs):
        raise TypeError(
            f"{name}(): argument 'out' must be tuple of Tensors, not {type(outs).__name__}"
        )
    if len(outs) != number:
        raise RuntimeError(f"{name}(): expected out= to hold {number} tensors, got {len(outs)}")


def write_each(function: Callable[..., Any], outs: Any, *inputs: Any, **params: Any) -> Any:
    """Compute a function with several results into the tensors `outs`; its named tuple of those.

    Raises as `write_out`, and RuntimeError for another number of tensors.
    """
    found: Any = None

    def first(*inputs: Any, **params: Any) -> Any:
        nonlocal found
        found = function(*inputs, **params)
        check_outs(first.__name__, outs, len(found))
        return found[0]

    first.__name__ = function.__name__
    check_outs(function.__name__, outs, len(outs))
    write_out(first, outs[0], inputs, params)
    for value, out in zip(found[1:], outs[1:], strict=True):
        write_value(value, out, function.__name__)
    return type(found)(*outs)
