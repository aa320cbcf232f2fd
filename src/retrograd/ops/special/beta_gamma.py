"""The gamma and beta functions themselves, which SciPy has and PyTorch does not.

They are for SciPy's functions on tensors and are not public. The kernels are SciPy's, in double
precision. Source of the formulas: the NIST Digital Library of Mathematical Functions, 5 and 8.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...kernels.library import scipy_special, widely
from ..core.pointwise import floating, pointwise, promoted
from .incomplete_gamma import no_closed_form

BROADCAST = ["3x4, 3x4", "3x1, 4", ", ", "0, 0"]


def _of_reals(name: str) -> Any:
    """A forward of several real arrays by SciPy."""

    @floating
    def forward(*inputs: Any) -> Any:
        wide = [x.astype(np.float64, copy=False) for x in inputs]
        return scipy_special(name)(*wide).astype(inputs[0].dtype)

    return lambda *inputs: forward(*promoted(*inputs))


def _rgamma_derivative(xp: Any, input: Any) -> Any:
    """-psi(x) / gamma(x), and left of 1/2 its reflection, which is finite at 0, -1, -2, ..."""
    left = xp.real(input) < 0.5
    low, high = xp.zero_where(input, ~left), xp.zero_where(input - 1.0, left) + 1.0
    mirrored, turn = 1.0 - low, low * math.pi
    to_the_left = xp.gamma(mirrored) * (
        xp.cos(turn) - xp.sin(turn) * xp.digamma(mirrored) * (1.0 / math.pi)
    )
    return xp.where(left, to_the_left, -(xp.rgamma(high) * xp.digamma(high)))


gamma = pointwise(
    "gamma(input)",
    floating(lambda x: widely("gamma", x)),
    derivative=lambda xp, input, out: out * xp.digamma(input),
    examples=["3x4", "", "0"],
    domain=(0.5, 4.0),
)

rgamma = pointwise(
    "rgamma(input)",
    floating(lambda x: widely("rgamma", x)),
    derivative=_rgamma_derivative,
    examples=["3x4", "", "0"],
    domain=(-1.5, 2.5),
)

beta = pointwise(
    "beta(input, other)",
    _of_reals("beta"),
    input=lambda xp, g, input, other, out: (
        g * out * (xp.digamma(input) - xp.digamma(input + other))
    ),
    other=lambda xp, g, input, other, out: (
        g * out * (xp.digamma(other) - xp.digamma(input + other))
    ),
    complex=False,
    examples=BROADCAST,
    domain=(0.5, 4.0),
)

betaln = pointwise(
    "betaln(input, other)",
    _of_reals("betaln"),
    input=lambda xp, g, input, other: g * (xp.digamma(input) - xp.digamma(input + other)),
    other=lambda xp, g, input, other: g * (xp.digamma(other) - xp.digamma(input + other)),
    complex=False,
    examples=BROADCAST,
    domain=(0.5, 4.0),
)


def _betainc_x(xp: Any, g: Any, a: Any, b: Any, x: Any) -> Any:
    """The cotangent of `x`: the density of the beta distribution."""
    return g * xp.exp(xp.xlogy(a - 1.0, x) + xp.xlog1py(b - 1.0, -x) - xp.betaln(a, b))


betainc = pointwise(
    "betainc(a, b, x)",
    _of_reals("betainc"),
    a=no_closed_form("betainc: a"),
    b=no_closed_form("betainc: b"),
    x=_betainc_x,
    complex=False,
    examples=["3x4:int1<5, 4:int1<5, 3x4", "0:int1<5, 0:int1<5, 0"],
    domain=(0.1, 0.9),
)
