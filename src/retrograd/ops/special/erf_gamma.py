"""Error functions, gamma functions and the normal distribution, elementwise.

The array kernels are in `kernels.special`. PyTorch has some of these under `special` alone: they
are no methods, and are not listed in `__all__`.
"""

from __future__ import annotations

import math
from typing import Any

from ...engine.op import camel_case
from ...engine.registry import example
from ...engine.tensor import Tensor
from ...kernels import normal
from ...kernels import special as kernels
from ..core.arguments import public
from ..core.pointwise import (
    SINGLE,
    attach,
    double,
    floating,
    only,
    pointwise,
    squared,
    unary,
    with_doctest,
)

__all__ = ["digamma", "erf", "erfc", "erfinv", "lgamma", "polygamma"]

ROOT_2 = math.sqrt(2.0)
ROOT_2PI = math.sqrt(2.0 * math.pi)


def special(name: str, function: Any, about: str, shown: tuple[str, str], **options: Any) -> Any:
    """Declare an elementwise op of one input that PyTorch has under `special` alone.

    `shown` is a doctest: the argument list of `tensor`, and the values that come out.
    """
    call = f"special.{name}(rg.tensor({shown[0]}))"
    doc = with_doctest(about, call, shown[1])
    options.setdefault("node_name", f"Special{camel_case(name)}Backward0")
    options.setdefault("examples", SINGLE)
    return pointwise(f"{name}(input)", floating(function), doc=doc, **options)


erf = unary(
    "erf",
    floating(kernels.erf),
    "The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.",
    ("[0.0, 1.0]", "[0.0000, 0.8427]"),
    derivative=lambda xp, input: xp.exp(-squared(xp, input)) * (2.0 / math.sqrt(math.pi)),
    leads="input",
)

erfc = unary(
    "erfc",
    floating(kernels.erfc),
    "1 - erf(x), without cancellation for large x.",
    ("[0.0, 1.0]", "[1.0000, 0.1573]"),
    derivative=lambda xp, input: xp.exp(-squared(xp, input)) * (-2.0 / math.sqrt(math.pi)),
    leads="input",
)

erfinv = unary(
    "erfinv",
    floating(only("erfinv", "f", kernels.erfinv)),
    "The inverse of `erf`; infinite with derivative inf at 1 and -1, NaN beyond.",
    ("[0.0, 0.5]", "[0.0000, 0.4769]"),
    derivative=lambda xp, input: xp.exp(xp.erfinv(input) ** 2) * (math.sqrt(math.pi) / 2.0),
    leads="input",
    complex=False,
    domain=(-0.8, 0.8),
)

erfcx = special(
    "erfcx",
    normal.erfcx,
    "exp(x^2) erfc(x), which does not underflow for large x; real or complex.",
    ("[0.0, 100.0]", "[1.0000, 0.0056]"),
    derivative=lambda xp, input, out: input * out * 2.0 - 2.0 / math.sqrt(math.pi),
    leads="input",
)

# -- the normal distribution -------------------------------------------------------------------

ndtr = special(
    "ndtr",
    normal.ndtr,
    "The share of the standard normal distribution below x; real or complex.",
    ("[0.0, 1.0]", "[0.5000, 0.8413]"),
    derivative=lambda xp, input: xp.exp(-0.5 * squared(xp, input)) * (1.0 / ROOT_2PI),
    leads="input",
    node_name="MulBackward1",
)


def _log_ndtr_derivative(xp: Any, input: Any) -> Any:
    """Density over share; of the two forms each is finite, to every order, on one side only."""
    input = double(xp, input)
    right = xp.real(input) > 0
    low, high = xp.zero_where(input, right), xp.zero_where(input, ~right)
    to_the_left = (2.0 / ROOT_2PI) / xp.erfcx(low * (-1.0 / ROOT_2))
    to_the_right = xp.exp(high * high * -0.5) / (xp.ndtr(high) * ROOT_2PI)
    return xp.where(right, to_the_right, to_the_left)


log_ndtr = special(
    "log_ndtr",
    normal.log_ndtr,
    "The logarithm of `ndtr`, exact far to the left; real or complex.",
    ("[0.0, -100.0]", "[-6.9315e-01, -5.0055e+03]"),
    derivative=_log_ndtr_derivative,
)

ndtri = special(
    "ndtri",
    only("ndtri", "f", normal.ndtri),
    "The inverse of `ndtr`; infinite with derivative inf at 0 and 1, NaN outside.",
    ("[0.5, 0.8413]", "[0.0000, 0.9998]"),
    derivative=lambda xp, out: xp.exp(out * out * 0.5) * ROOT_2PI,
    complex=False,
    domain=(0.1, 0.9),
)

# -- gamma functions ---------------------------------------------------------------------------

lgamma = unary(
    "lgamma",
    floating(kernels.lgamma),
    "log |gamma(x)|, for complex input log gamma(x); inf at 0, -1, -2, ...",
    ("[1.0, 5.0]", "[0.0000, 3.1781]"),
    derivative=lambda xp, input: xp.digamma(input),
    domain=(0.5, 4.0),
)

digamma = unary(
    "digamma",
    floating(lambda x: kernels.polygamma(0, x)),
    "The derivative of `lgamma`, real or complex; NaN at -1, -2, ..., infinite at 0.",
    ("[1.0, 2.0]", "[-0.5772,  0.4228]"),
    derivative=lambda xp, input: xp.polygamma(input, n=1),
    domain=(0.5, 4.0),
)

_polygamma = pointwise(
    "polygamma(input, *, n)",
    floating(lambda input, *, n: kernels.polygamma(n, input)),
    input=lambda xp, g, input, n: g * xp.conj(xp.polygamma(input, n=n + 1)),
    examples=[example("3x4", n=1), example("", n=2)],
    domain=(0.5, 4.0),
)


@public(out=True)
def polygamma(n: int, input: Tensor) -> Tensor:
    """The `n`-th derivative of `digamma`, elementwise, real or complex.

    Raises RuntimeError for a negative `n`.

    >>> rg.polygamma(1, rg.tensor([1.0, 2.0]))
    tensor([1.6449, 0.6449])
    """
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n. Here n is {n}")
    return digamma(input) if n == 0 else _polygamma(input, n=n)


def _polygamma_method(self: Any, n: int) -> Tensor:
    """`polygamma` as a method, which takes `n` last."""
    return polygamma(n, self)


_polygamma_method.__name__ = "polygamma"
attach(_polygamma_method, "polygamma")
