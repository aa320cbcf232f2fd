"""Orthogonal polynomials and their derivatives of any order, by three-term recurrences.

Nothing here knows of tensors. Every family satisfies p0 = 1 and

    p[k+1] = (a x + b) p[k] - c p[k-1],    (a, b, c) = FAMILIES[family](k).

Differentiated m times, with D[m] the m-th derivative,

    D[m] p[k+1] = (a x + b) D[m] p[k] + m a D[m-1] p[k] - c D[m] p[k-1].

Source: Abramowitz and Stegun, Handbook of Mathematical Functions, table 22.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .allocation import has_values

if TYPE_CHECKING:
    from collections.abc import Callable


def _chebyshev(first: tuple[float, float]) -> Callable[[int], tuple[float, float, float]]:
    """The four kinds differ in p1 = first[0] x + first[1] alone."""
    return lambda k: (2.0, 0.0, 1.0) if k else (*first, 0.0)


def _shifted(rule: Callable[[int], tuple[float, float, float]]) -> Any:
    """The rule for p(2 x - 1)."""

    def of_shifted(k: int) -> tuple[float, float, float]:
        a, b, c = rule(k)
        return 2 * a, b - a, c

    return of_shifted


CHEBYSHEV = {
    "t": _chebyshev((1.0, 0.0)),
    "u": _chebyshev((2.0, 0.0)),
    "v": _chebyshev((2.0, -1.0)),
    "w": _chebyshev((2.0, 1.0)),
}

FAMILIES: dict[str, Callable[[int], tuple[float, float, float]]] = {
    **{f"chebyshev_polynomial_{kind}": rule for kind, rule in CHEBYSHEV.items()},
    **{f"shifted_chebyshev_polynomial_{kind}": _shifted(rule) for kind, rule in CHEBYSHEV.items()},
    "hermite_polynomial_h": lambda k: (2.0, 0.0, 2.0 * k),
    "hermite_polynomial_he": lambda k: (1.0, 0.0, float(k)),
    "laguerre_polynomial_l": lambda k: (-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1)),
    "legendre_polynomial_p": lambda k: ((2 * k + 1) / (k + 1), 0.0, k / (k + 1)),
}


def orthogonal(family: str, order: int, x: Any, n: Any) -> Any:
    """The `order`-th derivative of the family's n-th polynomial at `x`; 0 for negative n.

    `x` is float64 or complex128, `n` integer, of one shape.
    """
    rule = FAMILIES[family]
    out = np.zeros_like(x)
    now = [np.ones_like(x), *[np.zeros_like(x) for _ in range(order)]]
    before = [np.zeros_like(x) for _ in now]
    last = int(n.max(initial=-1)) if has_values(n) else -1
    for k in range(last + 1):
        np.copyto(out, now[order], where=n == k)
        if k < last:
            a, b, c = rule(k)
            factor = a * x + b
            after = [factor * p - c * q for p, q in zip(now, before, strict=True)]
            for m in range(1, order + 1):
                after[m] += m * a * now[m - 1]
            before, now = now, after
    return out
