"""What the functions need to know of float32 and float64, and the steps they share.

NOTE [Pairs]
A number that one float cannot hold is a pair of floats, high and low, whose exact sum it is: so the
steps before the last one hardly add to the rounding of the last. A product's low part is
`fma(x, y, -high)`, a sum's `(x - high) + y` where |x| >= |y|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy._core._multiarray_umath import __cpu_features__

from ..values import FLOATS, Value, bits, convert, fma, from_bits, ldexp, select

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "Format", "format_of", "horner", "nearest", "power_of_two", "scaled", "split", "split_normal",
    "widely",
]  # fmt: skip


@dataclass(frozen=True)
class Format:
    """A floating format."""

    dtype: np.dtype[Any]
    mantissa: int  # bits, without the leading one
    bias: int
    magic: float  # added to a small number and subtracted again, it rounds it to an integer
    ln2: tuple[float, float]  # a pair, whose high part times any exponent is exact


FORMATS = {
    form.dtype: form
    for form in (
        Format(np.dtype(np.float32), 23, 127, 1.5 * 2.0**23,
               (0.693145751953125, 1.428606765330187e-06)),
        Format(np.dtype(np.float64), 52, 1023, 1.5 * 2.0**52,
               (0.6931471805598903, 5.497923018708371e-14)),
    )
}  # fmt: skip


HAS_LDEXP = __cpu_features__.get("AVX512_SKX", False)  # for vectors, as an instruction


def format_of(x: Value) -> Format:
    """The format of a value."""
    return FORMATS[x.dtype]


def horner(x: Value, coefficients: Sequence[float]) -> Value:
    """The polynomial with these coefficients, lowest power first."""
    total = x.number(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = fma(total, x, coefficient)
    return total


def nearest(x: Value, factor: float) -> tuple[Value, Value]:
    """The integer nearest to x * factor, which is small: as a float, and as an integer."""
    magic = format_of(x).magic
    total = bits(fma(x, factor, magic))
    return from_bits(total) - magic, total - bits(x.number(magic))


def power_of_two(k: Value) -> Value:
    """2**k, for the exponent k of a normal number."""
    form = FORMATS[FLOATS[k.dtype]]
    return from_bits((k + form.bias) << form.mantissa)


def scaled(x: Value, k: Value) -> Value:
    """x * 2**k, rounded once, for an integer k, up to twice an exponent's range."""
    if HAS_LDEXP:
        return ldexp(x, k)
    half = k >> 1
    return x * power_of_two(half) * power_of_two(k - half)


def split(x: Value) -> tuple[Value, Value]:
    """(e, f) with x = 2**e (1 + f) and 1 + f from sqrt(1/2) to sqrt(2), for x > 0."""
    form = format_of(x)
    subnormal = x < 2.0 ** (1 - form.bias)
    e, f = split_normal(select(subnormal, x * 2.0 ** (form.mantissa + 1), x))
    return select(subnormal, e - float(form.mantissa + 1), e), f


def split_normal(x: Value) -> tuple[Value, Value]:
    """`split` of a number that is not subnormal."""
    form = format_of(x)
    root = int(np.sqrt(form.dtype.type(0.5)).view(f"i{form.dtype.itemsize}"))
    lifted = bits(x) - root
    e = convert(convert(lifted >> form.mantissa, np.int32), form.dtype)
    return e, from_bits((lifted & (1 << form.mantissa) - 1) + root) - 1.0


def widely(function: Callable[..., Value]) -> Callable[..., Value]:
    """A function of float64 alone, of float32 through float64."""

    def either(*operands: Value) -> Value:
        dtype = operands[0].dtype
        return convert(function(*[convert(x, np.float64) for x in operands]), dtype)

    either.__name__, either.__doc__ = function.__name__, function.__doc__
    return either
