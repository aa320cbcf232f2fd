"""NumPy's arithmetic, as functions of tensors, where it means something else than PyTorch's.

Arguments are NumPy's, in its order; what is not here is refused. Every function is a composition,
so none knows a derivative.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from .. import linalg, ops
from ..engine.dispatch import as_tensor
from ..engine.tensor import Tensor, new_tensor
from ..ops.reduction.finite_difference import gradient as derivatives
from . import array_api as api
from .array_api.arguments import flat, numpys_order, pair

__all__: list[str] = []

# -- elementwise ---------------------------------------------------------------------------------


def cbrt(x: Tensor) -> Tensor:
    """The real cube root."""
    return ops.copysign(ops.abs(x) ** (1 / 3), x)


def fmax(x1: Any, x2: Any) -> Tensor:
    """The larger of two elements, the other one if one is NaN."""
    x1, x2 = pair(x1, x2)
    return ops.fmax(x1, x2, **numpys_order(x1))


def fmin(x1: Any, x2: Any) -> Tensor:
    """The smaller of two elements, the other one if one is NaN."""
    x1, x2 = pair(x1, x2)
    return ops.fmin(x1, x2, **numpys_order(x1))


def divmod(x1: Tensor, x2: Tensor) -> tuple[Tensor, Tensor]:
    """Quotient, rounded down, and remainder."""
    return api.floor_divide(x1, x2), api.remainder(x1, x2)


def modf(x: Tensor) -> tuple[Tensor, Tensor]:
    """Fractional and integral part."""
    return ops.frac(x), ops.trunc(x)


def clip(
    a: Tensor, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None
) -> Tensor:
    """The elements moved into an interval, whose ends may be given under two names."""
    return api.clip(a, a_min if min is None else min, a_max if max is None else max)


def imag(val: Tensor) -> Tensor:
    """The imaginary part, zero for real numbers."""
    return ops.imag(val) if ops.is_complex(val) else ops.zeros_like(val)


def real_if_close(a: Tensor, tol: float = 100, /) -> Tensor:
    """The real part where all imaginary parts are below `tol` times the dtype's precision."""
    if not ops.is_complex(a):
        return a
    limit = tol * np.finfo(a._array.dtype).eps if tol > 1 else tol
    return ops.real(a) if bool((ops.abs(ops.imag(a)) < limit).all()) else a


def isclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether close to each other."""
    return ops.isclose(*pair(a, b), rtol, atol, equal_nan)


def allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all are close to each other."""
    return builtins.bool(ops.all(isclose(a, b, rtol, atol, equal_nan)))


def copy(a: Tensor) -> Tensor:
    """A copy."""
    return ops.clone(a)


# -- reductions ----------------------------------------------------------------------------------


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


def average(a: Tensor, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Tensor:
    """The mean, with weights of the array's shape, or of its length along `axis`."""
    if weights is None:
        return mean(a, axis, keepdims=keepdims)
    if not isinstance(weights, Tensor):
        weights = ops.as_tensor(np.asarray(weights))
    if weights.shape != a.shape:
        place = axis % a.ndim
        weights = weights.reshape([n if i == place else 1 for i, n in enumerate(a.shape)])
        weights = weights.expand(a.shape)
    total = api.sum(weights, axis=axis, keepdims=keepdims)
    return api.sum(a * weights, axis=axis, keepdims=keepdims) / total


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
    return function(a, q.to(a.dtype), axis, keepdims, interpolation=method)  # type: ignore[no-any-return]


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
    """Percents as shares."""
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
    return ops.cummax(a, axis, **numpys_order(a)).values  # type: ignore[no-any-return]


def cummin(a: Tensor, *, axis: int = 0) -> Tensor:
    """Running minima."""
    return ops.cummin(a, axis, **numpys_order(a)).values  # type: ignore[no-any-return]


def diff(a: Tensor, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Differences of neighbours; numbers at the ends stand for a whole slice."""
    ends = []
    for end in (prepend, append):
        if end is not None and not (isinstance(end, Tensor) and end.ndim):
            shape = list(a.shape)
            shape[axis] = 1
            end = as_tensor(end, a._array.dtype).expand(shape)  # noqa: PLW2901
        ends.append(end)
    return api.diff(a, axis=axis, n=n, prepend=ends[0], append=ends[1])


def gradient(f: Tensor, /, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences: an array for one axis, a tuple for several."""
    spacing = varargs[0] if len(varargs) == 1 else (varargs or None)
    found = derivatives(f, spacing=spacing, dim=axis, edge_order=edge_order)
    return found[0] if len(found) == 1 else found


def trapezoid(y: Tensor, x: Tensor | None = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """The trapezoidal rule."""
    return ops.trapezoid(y, x, dim=axis) if x is not None else ops.trapezoid(y, dx=dx, dim=axis)


def histogram(
    a: Tensor, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None
) -> tuple[Tensor, Tensor]:
    """Counts in bins, and the ends of the bins."""
    if np.ndim(bins):
        bins = ops.as_tensor(bins).to(a.dtype)
    found = ops.histogram(a, bins, range=range, weight=weights, density=density)
    return found.hist, found.bin_edges


# -- products ------------------------------------------------------------------------------------


def dot(a: Any, b: Any) -> Tensor:
    """Product of matrices or vectors; over the last axis of `a` and the last but one of `b`."""
    if not (isinstance(a, Tensor) and isinstance(b, Tensor) and a.ndim and b.ndim):
        return api.multiply(a, b)  # type: ignore[no-any-return]
    if a.ndim > 2 or b.ndim > 2:
        return api.tensordot(a, b, axes=([-1], [-builtins.min(b.ndim, 2)]))
    return api.matmul(a, b)  # type: ignore[no-any-return]


def vdot(a: Tensor, b: Tensor) -> Tensor:
    """Sum of conj(a) * b over all elements."""
    return api.vecdot(a.reshape(-1), b.reshape(-1))


def inner(a: Tensor, b: Tensor) -> Tensor:
    """Sums of products over the last axes."""
    return ops.inner(*pair(a, b))


def outer(a: Tensor, b: Tensor) -> Tensor:
    """Products of every element with every other."""
    return api.linalg.outer(a.reshape(-1), b.reshape(-1))  # type: ignore[no-any-return]


def kron(a: Tensor, b: Tensor) -> Tensor:
    """Kronecker product."""
    return ops.kron(*pair(a, b))


def cross(
    a: Tensor,
    b: Tensor,
    *,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Tensor:
    """Cross products of vectors of 3, which lie along an axis of each."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = ops.movedim(a, axisa, -1), ops.movedim(b, axisb, -1)
    return ops.movedim(api.linalg.cross(a, b, axis=-1), -1, axisc)


def svd(
    a: Tensor, *, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Singular values and vectors U, S, Vh, or the values alone; NumPy may be told of symmetry."""
    return linalg.svd(a, full_matrices) if compute_uv else linalg.svdvals(a)


def convolve(a: Tensor, v: Tensor, mode: str = "full") -> Tensor:
    """Convolution of two vectors."""
    a, v = pair(a, v)
    if len(a) < len(v):
        a, v = v, a
    n, m = len(a), len(v)
    ends = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n), "valid": (m - 1, n - m + 1)}
    if mode not in ends:
        raise ValueError(f"convolve(): mode must be 'full', 'same' or 'valid', not {mode!r}")
    padded = ops.constant_pad_nd(a, (m - 1, m - 1), 0)
    start, length = ends[mode]
    return (padded.unfold(0, m, 1) @ ops.flip(v, 0)).narrow(0, start, length)


def polyval(p: Tensor, x: Any) -> Tensor:
    """The polynomial with coefficients `p`, the highest first, at `x`."""
    x = x if isinstance(x, Tensor) else as_tensor(x, p._array.dtype)
    found = ops.zeros_like(x)
    for coefficient in p.unbind(0):
        found = api.add(api.multiply(found, x), coefficient)
    return found


def diagonal(a: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonal, as the last axis."""
    return ops.diagonal(a, offset, axis1, axis2)


def trace(a: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """The sum of the diagonal."""
    return api.sum(ops.diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def lstsq(a: Tensor, b: Tensor, rcond: Any = None) -> tuple[Any, ...]:
    """Least squares: solution, residuals, rank and singular values."""
    a, b = pair(a, b)
    found = linalg.lstsq(a, b.unsqueeze(-1) if b.ndim == 1 else b, rcond)
    solution = found.solution.squeeze(-1) if b.ndim == 1 else found.solution
    return solution, found.residuals, found.rank, found.singular_values


def matrix_power(a: Tensor, n: int, /) -> Tensor:
    """A power of every matrix."""
    return linalg.matrix_power(a, n)


def tensorsolve(a: Tensor, b: Tensor, axes: Any = None) -> Tensor:
    """The solution of tensordot(a, x, x.ndim) = b."""
    return linalg.tensorsolve(*pair(a, b), axes)
