"""Incomplete gamma functions, the multivariate log-gamma function and Hurwitz's zeta function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.dispatch import as_tensor
from ...engine.registry import name_node
from ...engine.tensor import Tensor
from ...kernels.library import scipy_special
from ..core.arguments import public
from ..core.pointwise import binary, pointwise, promoted, refusing, unsupported
from .erf_gamma import lgamma

__all__ = ["igamma", "igammac", "mvlgamma"]


def no_closed_form(what: str) -> Any:
    """The formula of an input whose derivative nobody can write down: asking for it raises."""
    why = ": it has no closed form. If it is not wanted, pass that argument as x.detach()"
    return refusing(f"the derivative for '{what}'", why)


def _by_scipy(name: str, kernel: str, integers: bool = False) -> Any:
    """A forward of two real arrays by SciPy; `integers` counts them as the default dtype."""

    def forward(x: Any, y: Any) -> Any:
        x, y = promoted(x, y)
        kind = x.dtype.kind
        if kind == "c" or (kind in "iub" and not integers):
            raise unsupported(name, x.dtype, "Convert the inputs to a real floating dtype first.")
        target = dtypes.default_numpy() if kind in "iub" else x.dtype
        x, y = (each.astype(np.float64, copy=False) for each in (x, y))
        return scipy_special(kernel)(x, y).astype(target)

    return forward


def _density(xp: Any, input: Any, other: Any) -> Any:
    """The integrand of the incomplete gamma function, x^(a-1) exp(-x) / gamma(a)."""
    a = input + xp.zeros_like(other)  # an integer would be taken for the default dtype
    return xp.exp(xp.xlogy(a - 1.0, other) - other - xp.lgamma(a))


INCOMPLETE = ["3x4:int<5, 3x4", "3:int<5, ", "0:int<5, 0"]

igamma = binary(
    "igamma",
    _by_scipy("igamma", "gammainc"),
    "The lower incomplete gamma function P(input, other), from 0 to 1, of real numbers >= 0. "
    "The\n    derivative in `input` is not implemented. Needs SciPy.",
    ("[1.0, 2.0]", "[1.0, 1.0]", "[0.6321, 0.2642]"),
    input=no_closed_form("igamma: input"),
    other=lambda xp, g, input, other: g * _density(xp, input, other),
    complex=False,
    examples=INCOMPLETE,
    domain=(0.5, 4.0),
)

igammac = binary(
    "igammac",
    _by_scipy("igammac", "gammaincc"),
    "The upper incomplete gamma function Q(input, other) = 1 - P(input, other); see `igamma`.",
    ("[1.0, 2.0]", "[1.0, 1.0]", "[0.3679, 0.7358]"),
    input=no_closed_form("igammac: input"),
    other=lambda xp, g, input, other: -(g * _density(xp, input, other)),
    complex=False,
    examples=INCOMPLETE,
    domain=(0.5, 4.0),
)


@public(out=True, methods="mvlgamma mvlgamma_")
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`, elementwise.

    Meant for inputs above (p - 1) / 2. Raises RuntimeError for p < 1. Source: PyTorch's `mvlgamma`,
    `special.multigammaln`.

    >>> rg.mvlgamma(rg.tensor([1.0, 2.0]), 2)
    tensor([1.1447, 0.4516])
    """
    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, but it is {p}")
    input = input.contiguous()
    total = lgamma(input)
    for j in range(1, p):
        total = total + lgamma(input - 0.5 * j)
    made = total + p * (p - 1) / 4 * math.log(math.pi)
    return name_node(made, "MvlgammaBackward0")


_zeta = pointwise(
    "zeta(input, other)",
    _by_scipy("zeta", "zeta", integers=True),
    promote=dtypes.promote_floating,
    input=no_closed_form("zeta"),
    other=lambda xp, g, input, other: g * (-input * xp.zeta(input + 1.0, other)),
    complex=False,
    examples=["3x4:int2<5, 4", "0:int2<5, 0"],
    domain=(0.5, 4.0),
    node_name="SpecialZetaBackward0",
)


@public(out=True)
def zeta(input: Any, other: Any) -> Tensor:
    """Hurwitz's zeta function: the sum of (k + other) ** -input over k = 0, 1, ...; broadcast.

    One of the two may be a number. Real. The gradient goes to `other`; asking for the one of
    `input` raises NotImplementedError. Needs SciPy.

    >>> rg.special.zeta(rg.tensor([2.0]), 1.0)
    tensor([1.6449])
    """
    overload = 2 if not isinstance(other, Tensor) else int(not isinstance(input, Tensor))
    made = _zeta(*numbers_as_tensors(input, other))
    return name_node(made, f"SpecialZetaBackward{overload}")


def numbers_as_tensors(input: Any, other: Any) -> tuple[Tensor, Tensor]:
    """Two tensors from a tensor and a number, in either order, or from two tensors.

    Beside integers a whole number is a 0-d tensor of its own dtype, which does not wrap around.
    """
    known = input if isinstance(input, Tensor) else other
    if not isinstance(known, Tensor):
        raise TypeError(
            "expected a Tensor and a Tensor or a number, but got "
            f"({type(input).__name__}, {type(other).__name__})"
        )
    like = known._array.dtype
    like = np.dtype(np.bool_) if like.kind in "iu" else like
    return as_tensor(input, like), as_tensor(other, like)
