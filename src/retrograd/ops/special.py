"""Error functions and gamma functions, elementwise; the array kernels are in `backends.special`."""

from __future__ import annotations

import math
from typing import Any

from ..backends import special as kernels
from ..engine.op import declare, example
from ..engine.tensor import Tensor
from .pointwise import attach, floating, only, unary

__all__ = ["digamma", "erf", "erfc", "erfinv", "lgamma", "polygamma"]

erf = unary(
    "erf",
    floating(kernels.erf),
    "The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.",
    ("[0.0, 1.0]", "[0.0000, 0.8427]"),
    slope=lambda xp, input: xp.exp(-(input * input)) * (2.0 / math.sqrt(math.pi)),
)

erfc = unary(
    "erfc",
    floating(kernels.erfc),
    "1 - erf(x), without cancellation for large x.",
    ("[0.0, 1.0]", "[1.0000, 0.1573]"),
    slope=lambda xp, input: xp.exp(-(input * input)) * (-2.0 / math.sqrt(math.pi)),
)

erfinv = unary(
    "erfinv",
    floating(only("erfinv", "f", kernels.erfinv)),
    "The inverse of `erf`; infinite with slope inf at 1 and -1, NaN beyond.",
    ("[0.0, 0.5]", "[0.0000, 0.4769]"),
    slope=lambda xp, out: xp.exp(out * out) * (math.sqrt(math.pi) / 2.0),
    complex=False,
    domain=(-0.8, 0.8),
)

lgamma = unary(
    "lgamma",
    floating(only("lgamma", "f", kernels.lgamma)),
    "log |gamma(x)|; inf at 0, -1, -2, ...",
    ("[1.0, 5.0]", "[0.0000, 3.1781]"),
    slope=lambda xp, input: xp.digamma(input),
    complex=False,
    domain=(0.5, 4.0),
)

digamma = unary(
    "digamma",
    floating(only("digamma", "f", lambda x: kernels.polygamma(0, x))),
    "The derivative of `lgamma`; NaN at -1, -2, ..., infinite at 0.",
    ("[1.0, 2.0]", "[-0.5772,  0.4228]"),
    slope=lambda xp, input: xp.polygamma(input, n=1),
    complex=False,
    domain=(0.5, 4.0),
)

_polygamma = declare(
    "polygamma(input, *, n)",
    floating(only("polygamma", "f", lambda input, *, n: kernels.polygamma(n, input))),
    input=lambda xp, g, input, n: g * xp.polygamma(input, n=n + 1),
    elementwise=True,
    inplace=False,
    complex=False,
    examples=[example("3x4", n=1), example("", n=2)],
    domain=(0.5, 4.0),
)


def polygamma(n: int, input: Tensor) -> Tensor:
    """The `n`-th derivative of `digamma`, elementwise, for real tensors.

    Raises RuntimeError for a negative `n`. Source: PyTorch's `polygamma`.

    >>> import retrograd as rg
    >>> rg.polygamma(1, rg.tensor([1.0, 2.0]))
    tensor([1.6449, 0.6449])
    """
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n, but n is {n}.")
    return digamma(input) if n == 0 else _polygamma(input, n=n)  # type: ignore[no-any-return]


def _polygamma_method(self: Any, n: int) -> Tensor:
    """`polygamma` as a method, which takes `n` last."""
    return polygamma(n, self)


_polygamma_method.__name__ = "polygamma"
attach(_polygamma_method, "polygamma")
