"""Quantiles: `quantile`, and `nanquantile`, which leaves NaN out.

Both are compositions: sort, read the two neighbours of each rank, interpolate. So the neighbours
share the cotangent by their weights, and the one alone gets it where no interpolation is needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...engine.dispatch import as_non_view
from ...engine.tensor import Tensor, concrete, constant_like
from ...errors import wrong_type
from ...kernels.allocation import known_true
from ..core.arguments import public
from ..core.dims import wrap_dim
from ..indexing.scatter import take_along_dim
from ..sorting.sort import sort

__all__ = ["nanquantile", "quantile"]

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


@public(out=True, methods="quantile")
def quantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The `q`-quantiles of all elements or along `dim`, for `q` from 0 to 1: rank q * (n - 1).

    `q` is a number, or a tensor of the input's dtype, 0-d or `(k,)`: then the result's first
    dimension is `k`. Between two elements, "linear" interpolates, "lower", "higher" and "nearest"
    (even ranks for halves) choose, "midpoint" takes the mean. NaN where there is a NaN. Raises
    RuntimeError unless the input is float32 or float64 with at least one element and `q` is in
    range.

    >>> rg.quantile(rg.tensor([0.0, 10.0, 20.0]), rg.tensor([0.25, 0.5]))
    tensor([ 5., 10.])
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation)


@public(out=True, methods="nanquantile")
def nanquantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """`quantile` of the elements that are not NaN; NaN where there are no others.

    Arguments and errors as there.

    >>> rg.nanquantile(rg.tensor([0.0, float("nan"), 20.0]), 0.5)
    tensor(10.)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation)


def _quantile(
    name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str
) -> Tensor:
    points = _checked(name, input, q, interpolation)
    shape = input._array.shape
    at = 0 if dim is None else wrap_dim(input, dim)
    samples = input.reshape(-1) if dim is None or not shape else input.movedim(at, -1)
    values = sort(samples, -1).values  # NaN last
    rank = _ranks(values, points.reshape(-1), name == "nanquantile")
    found = _between(values, rank, interpolation).movedim(-1, 0)
    if keepdim:
        sizes = [1 if dim is None or d == at else n for d, n in enumerate(shape)]
        found = found.reshape(found._array.shape[:1] + tuple(sizes))
    return as_non_view(found if points._array.ndim else found[0])


def _checked(name: str, input: Tensor, q: Any, interpolation: str) -> Tensor:
    """`q` as a tensor; raises where PyTorch does."""
    if input._array.size == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if input._array.dtype not in (np.float32, np.float64):
        raise RuntimeError(
            f"{name}() input tensor must be either float or double dtype, not "
            f"{dtypes.legacy_name(input.dtype)}"
        )
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    if q is None or isinstance(q, str):
        raise wrong_type(name, "q", "Tensor or float", q, 2)
    points = q if isinstance(q, Tensor) else constant_like(np.asarray(q, input._array.dtype), input)
    if points._array.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if points._array.dtype != input._array.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    given = concrete(points._array)
    if known_true(~((given >= 0) & (given <= 1)).all()):
        raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
    return points


def _ranks(values: Tensor, points: Tensor, skip: bool) -> Any:
    """The rank of each quantile in each sorted line, `(..., k)`; without `skip`, of NaN if any."""
    bad = values.isnan()
    last = values._array.shape[-1] - 1
    if skip:
        present = (last - bad.sum(-1, keepdim=True)).clamp(min=0)
        return points * present.to(values.dtype)
    return (points * last).masked_fill(bad.any(-1, keepdim=True), float(last))


def _between(values: Tensor, rank: Any, interpolation: str) -> Tensor:
    """The elements at the ranks, which may lie between two."""
    if interpolation == "nearest":
        return take_along_dim(values, rank.round().long(), -1)
    below = rank.floor()
    if interpolation == "lower":
        return take_along_dim(values, below.long(), -1)
    above = take_along_dim(values, rank.ceil().long(), -1)
    if interpolation == "higher":
        return above
    weight = rank - below if interpolation == "linear" else 0.5
    return take_along_dim(values, below.long(), -1).lerp(above, weight)
