"""Triangles of matrices by the loops in C: NOTE [Triangles] in `src/native/loops/triangle.c`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import native
from .products import has_blas

MOST_ROWS = 512  # of a system: larger ones leave the cache, and are halved before


def part(x: Any, diagonal: int, lower: bool) -> Any:
    """Matrices with zeros above a diagonal if `lower`, else up to it, copied; None if not done."""
    if native.loops is None or x.__class__ is not np.ndarray:
        return None
    out = np.empty(x.shape, x.dtype)
    cut = min(max(diagonal, -x.shape[-2]), x.shape[-1]) + 1
    return out if native.loops.triangle(out, x, cut, not lower) else None


def solved(a: Any, b: Any, x: Any, upper: bool, unit: bool) -> bool:
    """Write to `x` what solves `a @ x = b`, of one triangle of `a`; whether that was done.

    `b` and `x` have one shape, and may be one array.
    """
    if native.loops is None or not a.__class__ is b.__class__ is x.__class__ is np.ndarray:
        return False
    if not a.dtype == b.dtype == x.dtype or a.dtype.char not in "fdFD" or a.ndim > x.ndim:
        return False
    if a.ndim < x.ndim:
        a = a.reshape((1,) * (x.ndim - a.ndim) + a.shape)
    if a.dtype.char in "fd" and x.shape[-1] != 1:
        small = a.shape[-1] <= MOST_ROWS
        return small and bool(native.loops.solve_triangles(a, b, x, upper, unit))
    if not has_blas():
        return False
    if x is not b:
        x[...] = b
    return native.loops.trsm(a, x, upper, unit)  # type: ignore[no-any-return]
