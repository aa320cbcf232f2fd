"""Trigonometric and hyperbolic functions, their inverses, and angles, elementwise.

Integer inputs count as the default floating dtype. All but `hypot`, `deg2rad` and `rad2deg` extend
to complex numbers holomorphically, with NumPy's branch cuts.

NOTE [Derivatives of inverses]
1. The derivatives of asin, asinh and acosh are records of their own, 1 / (sqrt(1 - z) sqrt(1 + z))
   and its like. The square of z loses all digits near 1 and -1, and its root overflows, or lies on
   the other sheet.
2. On a branch cut they are those of the side that the sign of zero says. `1.0 - z` and `z * 1j`
   lose that sign; so the factors are made part by part.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.registry import example
from ...kernels import complexes
from ...kernels.complexes import joined
from ..core.pointwise import SINGLE, binary, floating, holds_complex, only, pointwise, unary

__all__ = [
    "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "deg2rad", "hypot", "rad2deg", "sin",
    "sinc", "sinh", "tan", "tanh",
]  # fmt: skip

sin = unary(
    "sin",
    floating(np.sin),
    "Sine.",
    ("[0.0, 1.0]", "[0.0000, 0.8415]"),
    derivative=lambda xp, input: xp.cos(input),
)

cos = unary(
    "cos",
    floating(np.cos),
    "Cosine.",
    ("[0.0, 1.0]", "[1.0000, 0.5403]"),
    derivative=lambda xp, input: -xp.sin(input),
)


def _squared_inverse(xp: Any, cosine: Any, input: Any, growing: Any) -> Any:
    """1 / cosine(input)^2 of complex numbers, of which the part `growing` enlarges the cosine."""
    single = getattr(input, "_array", input).dtype.itemsize == 8
    far = xp.abs(growing) > (80.0 if single else 400.0)  # it is 0, and the cosine may overflow
    inverse = xp.reciprocal(cosine(xp.zero_where(input, far)))
    return xp.zero_where(inverse * inverse, far)


def _tan_derivative(xp: Any, input: Any, out: Any) -> Any:
    """1 + tan^2, by the result alone; far from the real axis only 1 / cos^2 has digits left."""
    if holds_complex(out):
        return _squared_inverse(xp, xp.cos, input, xp.imag(input))
    return out * out + 1.0


tan = unary(
    "tan",
    floating(np.tan),
    "Tangent.",
    ("[0.0, 1.0]", "[0.0000, 1.5574]"),
    derivative=_tan_derivative,
    of_complex=["input"],
    domain=(-1.2, 1.2),
)


def _inverse_root(x: Any, kind: str) -> Any:
    """1 / sqrt(+-1 +- x^2) from its factors, for NOTE [Derivatives of inverses]."""
    if x.dtype.kind != "c":
        if kind == "acosh":  # NaN for numbers below -1, too
            return 1.0 / (np.sqrt(x - 1.0) * np.sqrt(x + 1.0))
        return 1.0 / np.sqrt((1.0 - x) * (1.0 + x) if kind == "asin" else 1.0 + x * x)
    z = complexes.turned(x) if kind == "asinh" else x
    low = joined(1 - z.real, -z.imag) if kind != "acosh" else joined(z.real - 1, z.imag)
    found = 1.0 / np.sqrt(low) / np.sqrt(joined(1 + z.real, z.imag))  # whose product overflows
    return np.where(np.isinf(x), 0, found)


for _kind, _domain in {"asin": (-0.8, 0.8), "asinh": (-0.8, 0.8), "acosh": (1.5, 3.0)}.items():
    pointwise(
        f"{_kind}_derivative(input)",
        floating(functools.partial(_inverse_root, kind=_kind)),
        derivative=(lambda xp, input, out: input * out * out * out)
        if _kind == "asin"
        else (lambda xp, input, out: -(input * out * out * out)),
        examples=SINGLE,
        domain=_domain,
        doc="""NOTE [Derivatives of inverses].""",
    )

asin = arcsin = unary(
    "asin",
    floating(np.arcsin),
    "Inverse sine; derivative inf at 1 and -1, NaN beyond for real input.",
    ("[0.0, 1.0]", "[0.0000, 1.5708]"),
    ["arcsin"],
    derivative=lambda xp, input: xp.asin_derivative(input),
    domain=(-0.8, 0.8),
)

acos = arccos = unary(
    "acos",
    floating(np.arccos),
    "Inverse cosine; derivative -inf at 1 and -1, NaN beyond for real input.",
    ("[0.0, 1.0]", "[1.5708, 0.0000]"),
    ["arccos"],
    derivative=lambda xp, input: -xp.asin_derivative(input),
    domain=(-0.8, 0.8),
)


def _atan_input(xp: Any, g: Any, input: Any) -> Any:
    """g / (1 + input^2), from its factors where they are complex, as those may be near 0."""
    if holds_complex(input):
        return g / xp.conj(input - 1j) / xp.conj(input + 1j)
    return g / (input * input + 1.0)


atan = arctan = unary(
    "atan",
    floating(np.arctan),
    "Inverse tangent.",
    ("[0.0, 1.0]", "[0.0000, 0.7854]"),
    ["arctan"],
    input=_atan_input,
    domain=(-0.8, 0.8),
)

sinh = unary(
    "sinh",
    floating(np.sinh),
    "Hyperbolic sine.",
    ("[0.0, 1.0]", "[0.0000, 1.1752]"),
    derivative=lambda xp, input: xp.cosh(input),
)

cosh = unary(
    "cosh",
    floating(np.cosh),
    "Hyperbolic cosine.",
    ("[0.0, 1.0]", "[1.0000, 1.5431]"),
    derivative=lambda xp, input: xp.sinh(input),
)


def squared_secant(xp: Any, input: Any, divisor: int = 1) -> Any:
    """1 / cosh(input / divisor)^2 of complex numbers, divided once finite; for formulas."""
    cosine = xp.cosh if divisor == 1 else lambda z: xp.cosh(z / divisor)
    return _squared_inverse(xp, cosine, input, xp.real(input) / divisor)


def _tanh_derivative(xp: Any, input: Any, out: Any) -> Any:
    """1 - tanh^2, of real numbers by the result alone, which saves memory; near 1 it has no
    digits."""
    return squared_secant(xp, input) if holds_complex(out) else 1.0 - out * out


tanh = unary(
    "tanh",
    floating(np.tanh),
    "Hyperbolic tangent.",
    ("[0.0, 1.0]", "[0.0000, 0.7616]"),
    derivative=_tanh_derivative,
    of_complex=["input"],
    domain=(-1.2, 1.2),
)


asinh = arcsinh = unary(
    "asinh",
    floating(np.arcsinh),
    "Inverse hyperbolic sine.",
    ("[0.0, 1.0]", "[0.0000, 0.8814]"),
    ["arcsinh"],
    derivative=lambda xp, input: xp.asinh_derivative(input),
    domain=(-0.8, 0.8),
)

acosh = arccosh = unary(
    "acosh",
    floating(np.arccosh),
    "Inverse hyperbolic cosine; derivative inf at 1, NaN below for real input.",
    ("[1.0, 2.0]", "[0.0000, 1.3170]"),
    ["arccosh"],
    derivative=lambda xp, input: xp.acosh_derivative(input),
    domain=(1.5, 3.0),
)

atanh = arctanh = unary(
    "atanh",
    floating(np.arctanh),
    "Inverse hyperbolic tangent; infinite at 1 and -1, NaN beyond for real input.",
    ("[0.0, 0.5]", "[0.0000, 0.5493]"),
    ["arctanh"],
    input=lambda xp, g, input: g / xp.conj(1.0 - input) / xp.conj(1.0 + input),
    domain=(-0.8, 0.8),
)


def _hypot_input(xp: Any, g: Any, input: Any, out: Any) -> Any:
    return xp.laid_out(xp.zero_where(g * (input / (out + (out == 0))), out == 0), g, input, out)


hypot = binary(
    "hypot",
    only("hypot", "f", np.hypot),
    "sqrt(input^2 + other^2) without overflow; at (0, 0) the subgradient of least norm, 0.",
    ("[3.0, 0.0]", "[4.0, 1.0]", "[5., 1.]"),
    input=_hypot_input,
    other=lambda xp, g, other, out: _hypot_input(xp, g, other, out),
    complex=False,
    domain=(0.5, 2.0),
)


def _atan2_arrays(y: Any, x: Any) -> Any:
    return complexes.atan2(y, x) if y.dtype.kind == "c" else np.arctan2(y, x)


def _atan2_input(xp: Any, g: Any, input: Any, other: Any) -> Any:
    """other / (input^2 + other^2), in two divisions that neither overflow nor give 0 / 0."""
    if holds_complex(input) or holds_complex(other):
        i = input * 1j
        return g * xp.conj(other / (other + i) / (other - i))
    radius = xp.hypot(input, other)
    divisor = radius + (radius == 0)
    return xp.laid_out(g * xp.zero_where(other / divisor / divisor, radius == 0), g, other, input)


atan2 = arctan2 = binary(
    "atan2",
    floating(only("atan2", "fc", _atan2_arrays)),
    "The angle of the point (other, input), in radians from -pi to pi; derivative 0 at (0, 0). "
    "Complex numbers have its analytic continuation.",
    ("[1.0, 0.0]", "[1.0, -1.0]", "[0.7854, 3.1416]"),
    ["arctan2"],
    promote=dtypes.promote_floating,
    input=_atan2_input,
    other=lambda xp, g, input, other: -_atan2_input(xp, g, other, input),
    domain=(0.5, 2.0),
)

deg2rad = unary(
    "deg2rad",
    floating(only("deg2rad", "f", np.deg2rad)),
    "Degrees to radians.",
    ("[180.0, 90.0]", "[3.1416, 1.5708]"),
    input=lambda xp, g: g * (math.pi / 180.0),
    linear="input",
    complex=False,
    node_name="Deg2RadBackward0",
)

rad2deg = unary(
    "rad2deg",
    floating(only("rad2deg", "f", np.rad2deg)),
    "Radians to degrees.",
    ("[0.0, 1.0]", "[ 0.0000, 57.2958]"),
    input=lambda xp, g: g * (180.0 / math.pi),
    linear="input",
    complex=False,
    node_name="Rad2DegBackward0",
)


def _sinc_order(x: Any, order: int) -> Any:
    """The derivative of this order of sin(u) / u at u = pi x, by recurrence, or by its series.

    f_n(u) = (sin(u + n pi/2) - n f_(n-1)(u)) / u loses digits for |u| below n, where the series
    f_n(u) = sum of (-1)^k (2k)! / ((2k - n)! (2k + 1)!) u^(2k - n) loses none. What is far is
    counted from the nearest integer before it is multiplied by pi, lest the zeros be missed.
    """
    u = x * math.pi
    near = np.abs(u) < order + 1 if order else u == 0
    far = np.where(near, 1.0, u)
    nearest = np.rint(x.real)
    sign = np.where(np.fmod(nearest, 2) == 0, 1, -1).astype(nearest.dtype)
    value = sign * _sine(x - nearest, 0) / far
    for n in range(1, order + 1):
        value = (sign * _sine(x - nearest, n) - n * value) / far
    return np.where(near, _sinc_series(np.where(near, u, 0.0), order) if order else 1.0, value)


def _sinc_series(u: Any, order: int) -> Any:
    """The same by its series, for |u| up to order + 1."""
    series = np.zeros_like(u)
    first = (order + 1) // 2
    for k in range(first + 14 + order, first - 1, -1):
        weight = (-1.0) ** k * math.perm(2 * k, order) / math.factorial(2 * k + 1)
        series = series * (u * u) + weight
    return series * u ** (2 * first - order)


def _sine(x: Any, order: int) -> Any:
    """The derivative of this order of sin(u) at u = pi x, where -1/2 <= x.real <= 1/2."""
    if x.dtype.kind == "c":
        value = complexes.sine_of_pi(x, order % 2 == 1)
        return value if order % 4 < 2 else -value
    if order % 2:  # the cosine, as the sine of what is missing to a right angle
        x = 0.5 - np.where(x.real < 0, -x, x)
    value = np.sin(x * math.pi)
    return value if order % 4 < 2 else -value


pointwise(
    "sinc_derivative(input, *, order)",
    floating(lambda x, *, order: (_sinc_order(x, order) * math.pi**order).astype(x.dtype)),
    input=lambda xp, g, input, order: g * xp.conj(xp.sinc_derivative(input, order=order + 1)),
    examples=[example("3x4", order=1), example("", order=2)],
    doc="""The derivative of `sinc` of an order above 0; accurate at 0, where it is smooth.""",
)

sinc = unary(
    "sinc",
    floating(lambda x: _sinc_order(x, 0).astype(x.dtype)),
    "sin(pi x) / (pi x), and 1 at 0, where it is smooth.",
    ("[0.0, 0.5]", "[1.0000, 0.6366]"),
    input=lambda xp, g, input: g * xp.conj(xp.sinc_derivative(input, order=1)),
    leads="input",
    examples=SINGLE,
)
