"""The inverse of the error function: polynomials in the logarithm of 1 - x^2 (M. Giles, 2011)."""

from __future__ import annotations

import math

from ..values import Value, copysign, fma, select, sqrt
from . import polynomials
from .formats import horner
from .logarithm import log_within
from .table import REAL, emits

__all__: list[str] = []


def single(x: Value, w: Value) -> Value:
    """erfinv(x) of float32 by w, within 1: x, or twice x, and x times the rest."""
    near = fma(horner(w, polynomials.ERFINV_NEAR_32), x, x)
    far = fma(horner(sqrt(w) - 3.0, polynomials.ERFINV_FAR_32), x, x + x)
    return select(w < 5.0, near, far)


def double(x: Value, w: Value) -> Value:
    """erfinv(x) of float64 by w, within 1."""
    root = sqrt(w)
    middle = select(w < 5.0, w - 2.5, 0.0)
    ratio = select(
        w < 5.0,
        horner(middle, polynomials.ERFINV_64),
        select(
            w < 16.0,
            horner(root - 3.0, polynomials.ERFINV_TAIL_64),
            horner(root - 5.0, polynomials.ERFINV_END_64),
        ),
    )
    return x * ratio


@emits("erfinv", REAL)
def erfinv(x: Value) -> Value:
    """x times a polynomial of w = -log(1 - x^2), or of the root of w where that is large."""
    size = abs(x)
    w = -log_within((1.0 - size) * (1.0 + size))
    found = (single if x.dtype.itemsize == 4 else double)(x, w)
    beyond = select(size == 1.0, x.number(math.inf), math.nan)
    return copysign(select(size < 1.0, found, beyond), x)
