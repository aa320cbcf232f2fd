"""Attention by the loops in C, without a matrix of scores: NOTE [Attention] in `attention.c`.

The functions give None for whatever the loops do not take: arrays that are not NumPy's own, other
types than single and double precision, a bias that lies in memory in another way.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import native
from ..allocation import empty
from ..memory import in_rows

ROWS = 64  # for each so many rows there is a state of the generator; TILE in `attention.c`


def takes(*arrays: Any) -> bool:
    """Whether the loops are there, and take these arrays: of one dtype, NumPy's own."""
    first = arrays[0]
    return native.loops is not None and all(
        x is None or (x.__class__ is np.ndarray and x.dtype == first.dtype and x.dtype.char in "fd")
        for x in arrays
    )


def heads(x: Any) -> Any:
    """`(..., n, m)` as `(heads, n, m)`, in row-major order."""
    return in_rows(x).reshape(math.prod(x.shape[:-2]), *x.shape[-2:])


def whole_rows(g: Any) -> Any:
    """A cotangent with its last dimension contiguous: itself, if it is."""
    return g if g.strides[-1] == g.itemsize else in_rows(g)


def empty_result(packed: Any, rows: int, swapped: bool) -> Any:
    """Memory for so many rows of results or gradients; `swapped` as in NOTE [Packed]."""
    *lead, _, width = packed.shape
    if swapped:
        return empty(packed, (*lead[:-1], rows, lead[-1], width)).swapaxes(-2, -3)
    return empty(packed, (*lead, rows, width))


def forward(
    packed: Any, bias: Any, states: Any, rows: int, scale: float, causal: bool, keep: float,
    swapped: bool,
) -> Any:  # fmt: skip
    """The results, and for each row its largest score and the inverse of its sum."""
    if not takes(packed, bias):
        return None
    out = empty_result(packed, rows, swapped)
    stats = np.empty((*out.shape[:-1], 2), packed.dtype)
    given = (rows, scale, causal, keep, in_rows(packed), bias, generator_states(states), out)
    found = native.loops.attention(*given, heads(stats), None, None)
    return (out, stats) if found else None


def derivative(
    made: Any, g: Any, packed: Any, bias: Any, out: Any, stats: Any, states: Any, rows: int,
    scale: float, causal: bool, keep: float,
) -> bool:  # fmt: skip
    """The gradient of `packed` into `made`; False where the loops do not take these arrays."""
    if not takes(g, packed, bias, out, stats):
        return False
    given = (rows, scale, causal, keep, in_rows(packed), bias, generator_states(states), out)
    return bool(native.loops.attention(*given, heads(stats), whole_rows(g), made))


def bias_derivative(
    g: Any, packed: Any, bias: Any, out: Any, stats: Any, states: Any, rows: int, scale: float,
    causal: bool, keep: float,
) -> Any:  # fmt: skip
    """The gradient of `bias`."""
    if not takes(g, packed, bias, out, stats):
        return None
    made = np.zeros(bias.shape, bias.dtype)
    given = (rows, scale, causal, keep, in_rows(packed), bias, generator_states(states), out)
    found = native.loops.attention_bias(*given, heads(stats), whole_rows(g), made)
    return made if found else None


def generator_states(states: Any) -> Any:
    """The states of the generator as the loops take them."""
    return None if states is None else states.astype(np.uint32, "C", copy=False)
