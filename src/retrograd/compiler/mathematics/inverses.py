"""The inverse of the error function: polynomials in the logarithm of 1 - x^2 (M. Giles, 2011)."""

from __future__ import annotations

import math

from ..values import Value, copysign, select, sqrt
from . import polynomials
from .formats import horner, widely
from .logarithm import log
from .table import REAL, emits

__all__: list[str] = []


@emits("erfinv", REAL)
@widely
def erfinv(x: Value) -> Value:
    """x times a polynomial of w = -log(1 - x^2), or of the root of w where that is large."""
    size = abs(x)
    w = -log((1.0 - size) * (1.0 + size))
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
    inside = size < 1.0
    found = select(size == 1.0, math.inf, select(inside, size * ratio, x.number(math.nan)))
    return copysign(found, x)
