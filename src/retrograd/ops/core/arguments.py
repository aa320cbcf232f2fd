"""`out=` for functions whose result is at hand, or that have several results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...engine.dispatch import check_places, write_out
from ...engine.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

__all__: list[str] = []


def write_value(value: Tensor, out: Tensor, name: str) -> Tensor:
    """Write the result `value` of the function called `name` into `out`; errors as `write_out`."""

    def result(source: Tensor) -> Tensor:
        return source

    result.__name__ = name
    return write_out(result, out, (value,), {})  # type: ignore[no-any-return]


def dtype_for(input: Tensor, dtype: Any, out: Any) -> Any:
    """The dtype in which a sum or product is made: that of `out` where none was given."""
    if dtype is not None or not isinstance(out, Tensor):
        return dtype
    return None if input.dtype.is_complex and not out.dtype.is_complex else out.dtype


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
        for value, out in zip(found[1:], outs[1:], strict=True):
            check_places(value, out)
        return found[0]

    first.__name__ = function.__name__
    check_outs(function.__name__, outs, len(outs))
    write_out(first, outs[0], inputs, params)
    for value, out in zip(found[1:], outs[1:], strict=True):
        write_value(value, out, function.__name__)
    return type(found)(*outs)
