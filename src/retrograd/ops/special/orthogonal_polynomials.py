"""Orthogonal polynomials: Chebyshev's four kinds (also shifted to [0, 1]), Hermite's two, Laguerre
and Legendre.

All are one record with the family and the order of the derivative as parameters, so that they have
derivatives of every order in `input`, which PyTorch refuses; and they take complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.registry import example
from ...engine.tensor import Tensor
from ...kernels.orthogonal import orthogonal
from ..core.arguments import public, titled
from ..core.pointwise import pointwise, with_doctest
from .incomplete_gamma import numbers_as_tensors

__all__: list[str] = []


def _evaluate(input: Any, n: Any, *, family: str, order: int) -> Any:
    target = dtypes.common(input, n)
    if target.kind in "iub":
        target = dtypes.default_numpy()
    precision = np.complex128 if input.dtype.kind == "c" else np.float64
    x, degree = np.broadcast_arrays(input.astype(precision), n.astype(np.int64))
    return orthogonal(family, order, x, degree).astype(target)


_orthogonal = pointwise(
    "orthogonal(input, n, *, family, order)",
    _evaluate,
    input=lambda xp, g, input, n, family, order: (
        g * xp.conj(xp.orthogonal(input, n, family=family, order=order + 1))
    ),
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

KINDS = "t first", "u second", "v third", "w fourth"
CHEBYSHEV = "The n-th Chebyshev polynomial of the {} kind{}."


def _chebyshev(prefix: str, of: str, shown: Sequence[str]) -> list[Callable[..., Tensor]]:
    """The functions of the four kinds, and what each shows."""
    kinds = [kind.split() for kind in KINDS]
    return [
        _named(f"{prefix}_{letter}", CHEBYSHEV.format(number, of), values)
        for (letter, number), values in zip(kinds, shown, strict=True)
    ]


(
    chebyshev_polynomial_t, chebyshev_polynomial_u,
    chebyshev_polynomial_v, chebyshev_polynomial_w,
) = _chebyshev(
    "chebyshev_polynomial", "", ["[-1., 26.]", "[-1., 56.]", "[-1., 41.]", "[-1., 71.]"]
)  # fmt: skip
(
    shifted_chebyshev_polynomial_t, shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v, shifted_chebyshev_polynomial_w,
) = _chebyshev(
    "shifted_chebyshev_polynomial", ", of 2 * input - 1",
    ["[-0., 99.]", "[ -0., 204.]", "[  1., 169.]", "[ -1., 239.]"],
)  # fmt: skip
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
