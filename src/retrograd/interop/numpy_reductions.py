"""NumPy's reductions, running sums, differences and statistics, as functions of tensors.

Arguments are NumPy's, in its order; what is not here is refused. Every function is a composition,
so none knows a derivative.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops
from ..engine.dispatch import as_tensor
from ..engine.tensor import Tensor, new_tensor
from ..ops.reduction.finite_difference import gradient as derivatives
from . import array_api as api
from .array_api.arguments import flat, numpys_order, promoted
from .numpy_layout import array_of, tensors

__all__: list[str] = []


def floating(a: Tensor, dtype: Any = None) -> Tensor:
    """The array as NumPy averages it: integers as float64."""
    if dtype is None and a._array.dtype.kind in "biu":
        dtype = api.float64
    return a if dtype is None else a.to(dtype)


def mean(a: Tensor, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Tensor:
    """The mean."""
    return api.mean(floating(a, dtype), axis=axis, keepdims=keepdims)


def var(
    a: Tensor, axis: Any = None, dtype: Any = None, *, correction: float = 0, keepdims: bool = False
) -> Tensor:
    """The variance."""
    return api.var(floating(a, dtype), axis=axis, correction=correction, keepdims=keepdims)


def std(
    a: Tensor, axis: Any = None, dtype: Any = None, *, correction: float = 0, keepdims: bool = False
) -> Tensor:
    """The standard deviation."""
    return api.std(floating(a, dtype), axis=axis, correction=correction, keepdims=keepdims)


def ptp(a: Tensor, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """Largest less smallest."""
    return api.max(a, axis=axis, keepdims=keepdims) - api.min(a, axis=axis, keepdims=keepdims)


def average(
    a: Tensor,
    axis: Any = None,
    weights: Any = None,
    *,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """The mean, with weights of the array's shape or of its length along `axis`; and their sum."""
    weights = ops.ones_like(floating(a)) if weights is None else array_of(weights)
    if weights.shape != a.shape:
        place = axis % a.ndim
        weights = weights.reshape([n if i == place else 1 for i, n in enumerate(a.shape)])
        weights = weights.expand(a.shape)
    total = api.sum(weights, axis=axis, keepdims=keepdims)
    found = api.sum(a * weights, axis=axis, keepdims=keepdims) / total
    return (found, total.expand(found.shape)) if returned else found


def quantiles(function: Any, a: Tensor, q: Any, axis: Any, method: str, keepdims: bool) -> Tensor:
    """Quantiles of PyTorch's function, over one axis or several."""
    a = floating(a)
    if isinstance(axis, tuple):
        places = [place % a.ndim for place in axis]
        kept = [place for place in range(a.ndim) if place not in places]
        shape = [1 if place in places else n for place, n in enumerate(a.shape)]
        found = quantiles(
            function, ops.permute(a, (*kept, *places)).flatten(len(kept)), q, -1, method, False
        )
        return (
            found.reshape((*found.shape[: found.ndim - len(kept)], *shape)) if keepdims else found
        )
    q = q if isinstance(q, Tensor) else new_tensor(np.asarray(q, np.float64))
    return function(a, q.to(a.dtype), axis, keepdims, interpolation=method)


def quantile(
    a: Tensor, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """Quantiles."""
    return quantiles(ops.quantile, a, q, axis, method, keepdims)


def nanquantile(
    a: Tensor, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """Quantiles of what is no NaN."""
    return quantiles(ops.nanquantile, a, q, axis, method, keepdims)


def percentile(
    a: Tensor, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """Quantiles, in percent."""
    return quantile(a, hundredths(q), axis, method=method, keepdims=keepdims)


def nanpercentile(
    a: Tensor, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """Quantiles of what is no NaN, in percent."""
    return nanquantile(a, hundredths(q), axis, method=method, keepdims=keepdims)


def hundredths(q: Any) -> Any:
    """Percents as numbers between 0 and 1."""
    return q / 100 if isinstance(q, Tensor) else np.asarray(q) / 100


def median(a: Tensor, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The middle element, or the mean of both; PyTorch's is the lower."""
    return quantile(a, 0.5, axis, keepdims=keepdims)


def nanmedian(a: Tensor, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The middle element of what is no NaN, or the mean of both."""
    return nanquantile(a, 0.5, axis, keepdims=keepdims)


def cumsum(a: Tensor, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Running sums, flattened without an axis."""
    a, axis = flat(a, axis)
    return api.cumulative_sum(a, axis=axis, dtype=dtype)


def cumprod(a: Tensor, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Running products, flattened without an axis."""
    a, axis = flat(a, axis)
    return api.cumulative_prod(a, axis=axis, dtype=dtype)


def cummax(a: Tensor, *, axis: int = 0) -> Tensor:
    """Running maxima."""
    return ops.cummax(a, axis, **numpys_order(a)).values


def cummin(a: Tensor, *, axis: int = 0) -> Tensor:
    """Running minima."""
    return ops.cummin(a, axis, **numpys_order(a)).values


def diff(a: Tensor, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Differences of neighbours; numbers at the ends stand for a whole slice."""
    ends = []
    for given in (prepend, append):
        end = None if given is None else array_of(given)
        if end is not None and not end.ndim:
            shape = list(a.shape)
            shape[axis] = 1
            end = as_tensor(given, a._array.dtype).expand(shape)
        ends.append(end)
    return api.diff(a, axis=axis, n=n, prepend=ends[0], append=ends[1])


def gradient(f: Tensor, /, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences, of distances or at places: an array for one axis, a tuple for more."""
    spacing = [array_of(v) if np.ndim(v) else v for v in varargs]
    alone = len(spacing) == 1 and not isinstance(spacing[0], Tensor)
    found = derivatives(
        f, spacing=spacing[0] if alone else (spacing or None), dim=axis, edge_order=edge_order
    )
    return found[0] if len(found) == 1 else found


def trapezoid(y: Tensor, x: Tensor | None = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """The trapezoidal rule."""
    return ops.trapezoid(y, x, dim=axis) if x is not None else ops.trapezoid(y, dx=dx, dim=axis)


# -- what is no NaN ------------------------------------------------------------------------------


def without_nan(a: Tensor, instead: Any) -> Tensor:
    """The array with another value in place of NaN."""
    return ops.where(ops.isnan(a), instead, a) if a._array.dtype.kind in "fcV" else a


def counted(a: Tensor, axis: Any, keepdims: bool) -> Tensor:
    """How many elements over `axis` are no NaN."""
    return api.sum(~ops.isnan(a), axis=axis, keepdims=keepdims)


def extreme(function: Any, a: Tensor, axis: Any, keepdims: bool, end: float) -> Tensor:
    """The largest or smallest of what is no NaN; NaN where there is nothing else."""
    if a._array.dtype.kind not in "fcV":
        return function(a, axis=axis, keepdims=keepdims)
    found = function(without_nan(a, end), axis=axis, keepdims=keepdims)
    return ops.where(counted(a, axis, keepdims) == 0, math.nan, found)


def nanmax(a: Tensor, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The largest element that is no NaN."""
    return extreme(api.max, a, axis, keepdims, -math.inf)


def nanmin(a: Tensor, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The smallest element that is no NaN."""
    return extreme(api.min, a, axis, keepdims, math.inf)


def nansum(a: Tensor, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Tensor:
    """The sum of what is no NaN."""
    return api.sum(without_nan(a, 0), axis=axis, dtype=dtype, keepdims=keepdims)


def nanprod(a: Tensor, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Tensor:
    """The product of what is no NaN."""
    return api.prod(without_nan(a, 1), axis=axis, dtype=dtype, keepdims=keepdims)


def nancumsum(a: Tensor, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Running sums of what is no NaN."""
    return cumsum(without_nan(a, 0), axis, dtype)


def nancumprod(a: Tensor, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Running products of what is no NaN."""
    return cumprod(without_nan(a, 1), axis, dtype)


def nanmean(a: Tensor, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Tensor:
    """The mean of what is no NaN."""
    a = floating(a, dtype)
    return nansum(a, axis, keepdims=keepdims) / counted(a, axis, keepdims)


def spread(a: Tensor, axis: Any, dtype: Any, correction: float, keepdims: bool) -> Any:
    """The norm of the deviations of what is no NaN, and by how much its square is divided."""
    a = floating(a, dtype)
    away = without_nan(a - nanmean(a, axis, keepdims=True), 0)
    free = counted(a, axis, keepdims) - correction
    size = api.linalg.vector_norm(away, axis=axis, keepdims=keepdims)
    return size, ops.where(free > 0, free.to(size.dtype), math.nan)


def nanvar(
    a: Tensor, axis: Any = None, dtype: Any = None, *, correction: float = 0, keepdims: bool = False
) -> Tensor:
    """The variance of what is no NaN; NaN where too little is."""
    size, free = spread(a, axis, dtype, correction, keepdims)
    return size * size / free


def nanstd(
    a: Tensor, axis: Any = None, dtype: Any = None, *, correction: float = 0, keepdims: bool = False
) -> Tensor:
    """The standard deviation of what is no NaN; NaN where too little is."""
    size, free = spread(a, axis, dtype, correction, keepdims)
    return size / ops.sqrt(free)


# -- counts and covariances ----------------------------------------------------------------------


def bincount(x: Tensor, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each integer occurs, or the sum of the weights where it does."""
    if weights is None:
        return ops.bincount(x, None, minlength)
    weights = floating(array_of(weights))
    length = max(int(x.max()) + 1 if x.numel() else 0, minlength)
    return ops.zeros(length, dtype=weights.dtype).index_add(0, x, weights)


def histogram(
    a: Tensor, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None
) -> tuple[Tensor, Tensor]:
    """Counts in bins, or sums of weights there, and the ends of the bins."""
    if isinstance(bins, (int, str)):
        bins = np.histogram_bin_edges(a.detach().numpy(), bins, range)
    ends = array_of(bins)
    places = ops.searchsorted(*promoted([ends, a.detach().reshape(-1)]), right=True) - 1
    last = len(ends) - 1
    places = ops.where((places == last) & (a.reshape(-1) == ends[-1]), last - 1, places)
    inside = (places >= 0) & (places < last)
    if weights is not None:
        weights = array_of(weights).reshape(-1)[inside]
    counts = bincount(places[inside], weights, last)
    if density:
        counts = counts / ops.diff(ends).double() / counts.sum()
    return counts, ends


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    *,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Tensor:
    """Covariances of the rows, or of the columns if not `rowvar`, of one array or two."""
    rows = [
        part.T if part.ndim == 2 and not rowvar else ops.atleast_2d(part)
        for part in tensors([m] if y is None else [m, y])
    ]
    if ddof is None:
        ddof = 0 if bias else 1
    weights = {"fweights": fweights, "aweights": aweights}
    given = {name: array_of(value) for name, value in weights.items() if value is not None}
    return ops.cov(floating(ops.cat(rows), dtype), correction=ddof, **given)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Tensor:
    """Correlations of the rows, or of the columns if not `rowvar`, of one array or two."""
    found = cov(x, y, rowvar, dtype=dtype)
    if found.ndim == 0:
        return found / found
    sizes = ops.sqrt(ops.real(ops.diagonal(found)))
    found = found / sizes[:, None] / sizes
    if ops.is_complex(found):
        return ops.complex(ops.real(found).clip(-1, 1), ops.imag(found).clip(-1, 1))
    return found.clip(-1, 1)
