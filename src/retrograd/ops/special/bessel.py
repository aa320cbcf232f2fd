"""Bessel functions of orders 0 and 1, Airy's function and the spherical Bessel function.

PyTorch has no derivatives for most of these. Here the derivative of one order is made of the orders
next to it, so there are derivatives of every order, at 0 too. The records of Bessel functions take
every real order, for SciPy's functions on tensors. All but the scaled i0e and i1e take complex
numbers. The kernels are SciPy's, but for real `i0` and `spherical_bessel_j0`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...engine.registry import example, renamed
from ...engine.tensor import Tensor
from ...kernels import bessel as kernels
from ...kernels.layout import laid_out
from ..core.arguments import public, titled
from ..core.pointwise import attach, floating, only, pointwise, with_doctest

__all__ = ["i0"]

ORDERS = [example("3x4", order=0), example("3", order=1), example("", order=2)]


def _family(name: str, kernel: Any, derivative: Any, **options: Any) -> Any:
    """Declare the record of a family of functions, with their order as parameter."""
    options = {"domain": (0.5, 3.0), "examples": ORDERS, **options}
    return pointwise(
        f"{name}(input, *, order)",
        floating(lambda input, *, order: laid_out(kernel(order, input), input)),
        derivative=derivative,
        **options,
    )


def _difference(function: Any, input: Any, order: float) -> Any:
    return (function(input, order=order - 1) - function(input, order=order + 1)) * 0.5


def _mean(function: Any, input: Any, order: float) -> Any:
    return (function(input, order=order - 1) + function(input, order=order + 1)) * 0.5


def _derivative_of_spherical(xp: Any, input: Any, order: int) -> Any:
    """j_n' = (n j_(n-1) - (n+1) j_(n+1)) / (2n + 1), without a division by x."""
    derivative = xp.spherical_j(input, order=order + 1) * (-(order + 1) / (2 * order + 1))
    if order:
        derivative = derivative + xp.spherical_j(input, order=order - 1) * (order / (2 * order + 1))
    return derivative


def _derivative_of_airy(xp: Any, input: Any, order: int) -> Any:
    """Ai' for order 0; for order 1, Ai'' = x Ai."""
    return xp.airy(input, order=1) if order == 0 else input * xp.airy(input, order=0)


_j = _family(
    "bessel_j", kernels.bessel_j, lambda xp, input, order: _difference(xp.bessel_j, input, order)
)
_y = _family(
    "bessel_y", kernels.bessel_y, lambda xp, input, order: _difference(xp.bessel_y, input, order)
)
_i = _family(
    "bessel_i", kernels.bessel_i, lambda xp, input, order: _mean(xp.bessel_i, input, order)
)
_k = _family(
    "bessel_k", kernels.bessel_k, lambda xp, input, order: -_mean(xp.bessel_k, input, order)
)
_ke = _family(
    "bessel_ke",
    kernels.bessel_ke,
    lambda xp, input, order, out: out - _mean(xp.bessel_ke, input, order),
)
_spherical = _family("spherical_j", kernels.spherical_j, _derivative_of_spherical)
_airy = _family("airy", kernels.airy, _derivative_of_airy, examples=ORDERS[:2])

NOT_ANALYTIC = "exp(-|x|) is not analytic: write i0(x) * exp(-x), which is."
_ie = _family(
    "bessel_ie",
    lambda order, x: only("i0e", "f", lambda x: kernels.bessel_ie(order, x), NOT_ANALYTIC)(x),
    lambda xp, input, order, out: _mean(xp.bessel_ie, input, order) - xp.sgn(input) * out,
    complex=False,
)


def _named(
    name: str,
    family: Callable[..., Tensor],
    order: int,
    about: str,
    shown: str,
    at: str = "[1.0, 2.0]",
    module: str = "special.",
) -> Callable[..., Tensor]:
    """The public function that is one order of a family; its values `at` some points are shown."""

    def call(input: Tensor) -> Tensor:
        return family(input, order=order)

    question = f"{module}{name}(rg.tensor({at}))"
    doc = with_doctest(about.format(order), question, shown)
    return public(out=True)(titled(call, name, doc))


FIRST = "The Bessel function of the first kind of order {}: smooth, real or complex."
SECOND = "The Bessel function of the second kind of order {}: -inf at 0, NaN for negative numbers."
GROWING = "The modified Bessel function of the first kind of order {}, real or complex."
SCALED = "exp(-|x|) times the modified Bessel function of the first kind of order {}; real only."
DECAYING = "The modified Bessel function of the second kind of order {}: inf at 0, NaN below."
SCALED_DECAYING = "exp(x) times the modified Bessel function of the second kind of order {}."

bessel_j0 = _named("bessel_j0", _j, 0, FIRST, "[0.7652, 0.2239]")
bessel_j1 = _named("bessel_j1", _j, 1, FIRST, "[0.4401, 0.5767]")
bessel_y0 = _named("bessel_y0", _y, 0, SECOND, "[0.0883, 0.5104]")
bessel_y1 = _named("bessel_y1", _y, 1, SECOND, "[-0.7812, -0.1070]")
modified_bessel_i0 = _named("modified_bessel_i0", _i, 0, GROWING, "[1.2661, 2.2796]")
modified_bessel_i1 = _named("modified_bessel_i1", _i, 1, GROWING, "[0.5652, 1.5906]")
modified_bessel_k0 = _named("modified_bessel_k0", _k, 0, DECAYING, "[0.4210, 0.1139]")
modified_bessel_k1 = _named("modified_bessel_k1", _k, 1, DECAYING, "[0.6019, 0.1399]")
scaled_modified_bessel_k0 = _named(
    "scaled_modified_bessel_k0", _ke, 0, SCALED_DECAYING, "[1.1445, 0.8416]"
)
scaled_modified_bessel_k1 = _named(
    "scaled_modified_bessel_k1", _ke, 1, SCALED_DECAYING, "[1.6362, 1.0335]"
)
i0 = _named("i0", renamed(_i, "I0Backward0"), 0, GROWING, "[1.2661, 2.2796]", module="")
i1 = _named("i1", renamed(_i, "SpecialI1Backward0"), 1, GROWING, "[0.5652, 1.5906]")
i0e = _named("i0e", renamed(_ie, "SpecialI0EBackward0"), 0, SCALED, "[0.4658, 0.3085]")
i1e = _named("i1e", renamed(_ie, "SpecialI1EBackward0"), 1, SCALED, "[0.2079, 0.2153]")
spherical_bessel_j0 = _named(
    "spherical_bessel_j0",
    _spherical,
    0,
    "sin(x) / x, 1 at 0, smooth, real or complex.",
    "[0.8415, 0.4546]",
)
airy_ai = _named(
    "airy_ai",
    _airy,
    0,
    "Airy's function Ai, which solves y'' = x y and decays; real or complex.",
    "[0.3550, 0.1353]",
    "[0.0, 1.0]",
)

attach(i0, "i0")
