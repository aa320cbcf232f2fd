"""Covariances and correlations of variables from observations, as compositions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.dispatch import as_non_view
from ...engine.namespaces import recorded
from ...engine.tensor import Tensor, constant_like
from ...kernels.allocation import known_true
from ..core.arguments import public

__all__ = ["corrcoef", "cov"]


@public(methods="cov")
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """The covariances of the rows, `(variables, observations)`, as `(variables, variables)`.

    A vector is one variable, and gives a 0-d tensor. Divided by the number of observations less
    `correction`; `fweights`, integers, say how often each was made, `aweights` how much it counts.
    Complex rows are conjugated on the right. Where no degree of freedom is left, a warning says so
    and the division is by 0. Raises RuntimeError for more dimensions, booleans, and weights that do
    not fit.

    >>> rg.cov(rg.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input._array.ndim > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{input._array.ndim} dimensions"
        )
    if input._array.dtype.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x: Any = input.reshape(1, -1) if input._array.ndim < 2 else input
    _check_weights(x, fweights, "fweights", "integral", "iu")
    _check_weights(x, aweights, "aweights", "floating point", "fV")
    number = x._array.shape[1]
    weights: Any = fweights if aweights is None else aweights
    if fweights is not None and aweights is not None:
        weights = fweights * aweights
    total = constant_like(np.asarray(number), x) if weights is None else weights.sum()
    weighted = x if weights is None else x * weights
    norm = total - correction
    if aweights is not None and correction != 0:
        norm = total - correction * (weights * aweights).sum() / total
    if known_true(norm._array <= 0):
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number "
            "of observations.",
            stacklevel=2,
        )
        norm = norm - norm  # 0 without a sign
    centred = x - (weighted.sum(1) / total).unsqueeze(1)
    right = centred if weights is None else centred * weights
    return as_non_view((recorded.mm(centred, right.mH) / norm).squeeze())


def _check_weights(x: Any, weights: Any, name: str, wanted: str, kinds: str) -> None:
    """Raise unless `weights` suits the observations `x`."""
    if weights is None:
        return
    if weights._array.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
            f"{weights._array.ndim} dimensions"
        )
    if weights._array.dtype.kind not in kinds:
        raise RuntimeError(
            f"cov(): expected {name} to have {wanted} dtype but got {name} with "
            f"{dtypes.legacy_name(weights.dtype)} dtype"
        )
    if weights._array.size != x._array.shape[1]:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input "
            f"but got {weights._array.size} != {x._array.shape[1]}"
        )
    if weights._array.size and known_true(weights._array.min() < 0):
        raise RuntimeError(f"cov(): {name} cannot be negative")


@public(methods="corrcoef")
def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of the rows: covariances over standard deviations, in [-1, 1].

    Shapes as for `cov`; 0-d for a vector. A complex one has both parts in that range. NaN for rows
    without variation. The derivative where a coefficient was cut is 0. Raises RuntimeError for more
    than two dimensions.

    >>> rg.corrcoef(rg.tensor([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input._array.ndim > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{input._array.ndim} dimensions"
        )
    c = cov(input)
    if c._array.ndim == 0:
        return c / c
    spread = c.diagonal()
    is_complex = dtypes.category(c._array.dtype) == 3
    deviation = (spread.real if is_complex else spread).sqrt()
    c = c / deviation.reshape(-1, 1) / deviation
    if not is_complex:
        return c.clamp(-1, 1)
    return recorded.complex(c.real.clamp(-1, 1), c.imag.clamp(-1, 1))
