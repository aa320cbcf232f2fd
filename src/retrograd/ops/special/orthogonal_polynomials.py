"""Orthogonal polynomials: Chebyshev's four kinds (also shifted to [0, 1]), Hermite's two, Laguerre
and Legendre.

All are one record with the family and the order of the derivative as parameters, so that they have
derivatives of every order in `input`, which PyTorch refuses; and they take complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.registry import declare, example
from ...engine.tensor import Tensor
from ...kernels.orthogonal import orthogonal
from ..core.arguments import public, titled
from ..core.pointwise import with_doctest
from .incomplete_gamma import numbers_as_tensors

__all__: list[str] = []


def _evaluate(input: Any, n: Any, *, family: str, order: int) -> Any:
    target = dtypes.common(input, n)
    if target.kind in "iub":
        target = dtypes.default_numpy()
    precision = np.complex128 if input.dtype.kind == "c" else np.float64
    x, degree = np.broadcast_arrays(input.astype(precision), n.astype(np.int64))
    return orthogonal(family, order, x, degree).astype(target)


_orthogonal = declare(
    "orthogonal(input, n, *, family, order)",
    _evaluate,
    input=lambda xp, g, input, n, family, order: (
        g * xp.conj(xp.orthogonal(input, n, family=family, order=order + 1))
    ),
    elementwise=True,
    inplace=False,
    examples=[
        example("3x4, 3x4:int<6", family="chebyshev_polynomial_t", order=0),
        example("3x1, 4:int<6", family="shifted_chebyshev_polynomial_w", order=0),
        example("4, :int<6", family="hermite_polynomial_h", order=1),
        example(", 3:int<5", family="laguerre_polynomial_l", order=0),
        example("0, 0:int<5", family="legendre_polynomial_p", order=0),
    ],
    domain=(-0.9, 0.9),
    doc="""A derivative, of order `order`, of the n-th polynomial of a family.""",
)


def _named(name: str, about: str, shown: str) -> Callable[..., Tensor]:
    """The public function of one family."""

    def call(input: Any, n: Any) -> Tensor:
        first, second = numbers_as_tensors(input, n)
        return _orthogonal(first, second.detach(), family=name, order=0)

    example = f"special.{name}(rg.tensor([0.5, 2.0]), 3)"
    doc = with_doctest(about + RULES, example, shown)
    return public(out=True)(titled(call, name, doc))


RULES = """

    `input` and `n` broadcast; one of the two may be a number. `n` is truncated to an integer, and
    the value is 0 where it is negative. Differentiable in `input`, to any order.
"""

chebyshev_polynomial_t = _named(
    "chebyshev_polynomial_t", "The n-th Chebyshev polynomial of the first kind.", "[-1., 26.]"
)
chebyshev_polynomial_u = _named(
    "chebyshev_polynomial_u", "The n-th Chebyshev polynomial of the second kind.", "[-1., 56.]"
)
chebyshev_polynomial_v = _named(
    "chebyshev_polynomial_v", "The n-th Chebyshev polynomial of the third kind.", "[-1., 41.]"
)
chebyshev_polynomial_w = _named(
    "chebyshev_polynomial_w", "The n-th Chebyshev polynomial of the fourth kind.", "[-1., 71.]"
)
shifted_chebyshev_polynomial_t = _named(
    "shifted_chebyshev_polynomial_t",
    "The n-th Chebyshev polynomial of the first kind, of 2 * input - 1.",
    "[-0., 99.]",
)
shifted_chebyshev_polynomial_u = _named(
    "shifted_chebyshev_polynomial_u",
    "The n-th Chebyshev polynomial of the second kind, of 2 * input - 1.",
    "[ -0., 204.]",
)
shifted_chebyshev_polynomial_v = _named(
    "shifted_chebyshev_polynomial_v",
    "The n-th Chebyshev polynomial of the third kind, of 2 * input - 1.",
    "[  1., 169.]",
)
shifted_chebyshev_polynomial_w = _named(
    "shifted_chebyshev_polynomial_w",
    "The n-th Chebyshev polynomial of the fourth kind, of 2 * input - 1.",
    "[ -1., 239.]",
)
hermite_polynomial_h = _named(
    "hermite_polynomial_h", "The n-th physicists' Hermite polynomial.", "[-5., 40.]"
)
hermite_polynomial_he = _named(
    "hermite_polynomial_he", "The n-th probabilists' Hermite polynomial.", "[-1.3750,  2.0000]"
)
laguerre_polynomial_l = _named(
    "laguerre_polynomial_l", "The n-th Laguerre polynomial.", "[-0.1458, -0.3333]"
)
legendre_polynomial_p = _named(
    "legendre_polynomial_p", "The n-th Legendre polynomial.", "[-0.4375, 17.0000]"
)
