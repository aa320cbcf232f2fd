"""NumPy's `pad` in all its modes, as a composition: the axes one by one, their ends joined to them.

So corners are made of what the axes before them were padded with, as NumPy's are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..engine.dispatch import as_tensor
from ..engine.tensor import Tensor, new_tensor
from . import array_api as api
from .numpy_reductions import floating, mean, median

__all__: list[str] = []

STATISTICS: dict[str, Any] = {
    "maximum": api.max,
    "minimum": api.min,
    "mean": mean,
    "median": median,
}
PLACES = ("edge", "reflect", "symmetric", "wrap")
MODES = ("constant", "empty", "linear_ramp", *STATISTICS, *PLACES)


def pad(
    array: Tensor,
    pad_width: Any,
    mode: str = "constant",
    *,
    constant_values: Any = 0,
    end_values: Any = 0,
    stat_length: Any = None,
    reflect_type: str = "even",
) -> Tensor:
    """The array with elements added at its ends: see NumPy's; a function as `mode` is refused."""
    if mode not in MODES:
        raise ValueError(f"np.pad(): mode {mode!r} is not supported. There are {', '.join(MODES)}")
    if isinstance(pad_width, dict):
        given = {axis % array.ndim: ends for axis, ends in pad_width.items()}
        pad_width = [given.get(axis, (0, 0)) for axis in range(array.ndim)]
    widths = np.broadcast_to(pad_width, (array.ndim, 2)).tolist()
    values = {"constant": constant_values, "linear_ramp": end_values}.get(mode, stat_length)
    for axis, width in enumerate(widths):
        if mode in PLACES and (reflect_type == "even" or mode in ("edge", "wrap")):
            # What NumPy adds to the places, it adds to the elements.
            places = np.pad(np.arange(array.shape[axis]), width, mode=mode)  # type: ignore[call-overload]
            array = ops.index_select(array, axis, new_tensor(places))
            continue
        for end, count in enumerate(width):
            if count:
                x = ops.movedim(ops.flip(array, axis) if end else array, axis, 0)
                x = ops.cat([padding_before(x, count, mode, of_end(values, axis, end)), x])
                x = ops.movedim(x, 0, axis)
                array = ops.flip(x, axis) if end else x
    return array


def of_end(values: Any, axis: int, end: int) -> Any:
    """The value for one end of an axis, of one for all, for each axis, or for each end."""
    if not isinstance(values, (list, tuple, np.ndarray, Tensor)) or np.ndim(values) == 0:
        return values
    rows = values[axis if len(values) > 1 else 0] if np.ndim(values) == 2 else values
    return rows[end if len(rows) > 1 else 0]


def padding_before(x: Tensor, count: int, mode: str, value: Any) -> Tensor:
    """The `count` elements before the first axis of `x`; `value` is what the mode needs."""
    shape = (count, *x.shape[1:])
    if mode in ("constant", "empty", "linear_ramp"):
        outer = as_tensor(value or 0, x._array.dtype).to(x.dtype)
        if mode != "linear_ramp":
            return outer.expand(shape)
        first = floating(x[:1])
        steps = (ops.arange(count).double() / count).reshape(count, *(1,) * (x.ndim - 1))
        ramp = outer + (first - outer) * steps.to(first.real.dtype)
        return ops.floor(ramp).to(x.dtype) if x._array.dtype.kind in "iu" else ramp
    if mode in STATISTICS:
        part = x if value is None else x[:value]
        found = STATISTICS[mode](part, axis=0, keepdims=True)
        if x._array.dtype.kind in "iu":
            found = ops.round(found)
        return found.to(x.dtype).expand(shape)
    skip = 1 if mode == "reflect" and len(x) > 1 else 0  # odd reflection, by as much as there is
    parts: list[Tensor] = []
    while count:
        length = min(count, len(x) - skip)
        parts.insert(0, 2 * x[:1] - ops.flip(x[skip : skip + length], 0))
        x, count = ops.cat([parts[0], x]), count - length
    return ops.cat(parts)
