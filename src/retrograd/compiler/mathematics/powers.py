"""Powers, cube roots and lengths."""

from __future__ import annotations

import math

import numpy as np

from ..values import Value, bits, convert, copysign, fma, isnan, select, sqrt, trunc
from . import polynomials
from .exponential import exp2_pair
from .formats import horner, nearest, scaled, split
from .logarithm import log2, log2_pair
from .table import REAL, emits

__all__ = ["hypot"]


@emits("cbrt", REAL)
def cbrt(x: Value) -> Value:
    """The cube root of x = 8**k y: a polynomial in y, then steps of Halley's and Newton's."""
    e, f = split(abs(x))
    third, k = nearest(e, 1 / 3)
    y = scaled(f + 1.0, nearest(fma(third, -3.0, e), 1.0)[1])
    table = {4: polynomials.CBRT_32, 8: polynomials.CBRT_64}
    t = horner(y, table[x.dtype.itemsize])
    cube = t * t * t
    t = fma(t, (y - cube) / (cube + cube + y), t)
    square = t * t
    left = fma(square, t, -y) + fma(t, t, -square) * t
    root = scaled(fma(left, -1.0 / (square * 3.0), t), k)
    return select((x != 0) & (abs(x) < math.inf), copysign(root, x), x)


@emits("hypot", REAL)
def hypot(x: Value, y: Value) -> Value:
    """The square root of x^2 + y^2; infinite where one of them is, also beside NaN."""
    a, b = abs(x), abs(y)
    infinite = (a == math.inf) | (b == math.inf)
    if x.dtype.itemsize == 4:  # float64 holds the squares, and their sum's exponent
        wide, other = convert(a, np.float64), convert(b, np.float64)
        length = convert(sqrt(wide * wide + other * other), np.float32)
    else:
        more = a > b
        high, low = select(more, a, b), select(more, b, a)
        up, down = high < 2.0**-500, high > 2.0**500
        scale = select(up, high.number(2.0**600), select(down, high.number(2.0**-600), 1.0))
        back = select(up, high.number(2.0**-600), select(down, high.number(2.0**600), 1.0))
        high, low = high * scale, low * scale
        square = high * high
        length = sqrt(square + fma(low, low, fma(high, high, -square))) * back
    return select(infinite, math.inf, length)


@emits("power", REAL)
def power(x: Value, y: Value) -> Value:
    """2**(y log2 |x|), with a sign where y is odd; NumPy's values at the ends."""
    size = abs(x)
    if x.dtype.itemsize == 4:
        wide = convert(size, np.float64)
        found = convert(exp2_pair(convert(y, np.float64) * log2(wide), wide.number(0.0)), x.dtype)
    else:
        high, low = log2_pair(size)
        product = y * high
        rest = fma(y, high, -product) + y * low
        beyond = ~(abs(product) < 1100.0)  # where the rest may be NaN though the power is not
        found = exp2_pair(product, select(beyond, 0.0, rest))
    found = select(((size == 1.0) & ~isnan(y)) | (y == 0), 1.0, found)
    half = y * 0.5
    whole = trunc(y) == y
    odd = whole & (trunc(half) != half)
    signed = select(odd & (bits(x) < 0), -found, found)
    wrong = (x < 0) & (size < math.inf) & ~whole & ~isnan(y)
    return select(x == 1.0, 1.0, select(wrong, x.number(math.nan), signed))
