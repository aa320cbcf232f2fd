"""Distances between all pairs of vectors: `cdist` between two sets, `pdist` within one.

NOTE [Distances]
1. The P x R x M differences are formed a block of rows at a time, in the forward and in the
   formulas. So a distance and its gradient take memory for P x R numbers, not for P x R x M.
2. Between many points Euclidean distances come from |a|^2 - 2 a b + |b|^2, a product of matrices
   with two columns more. It loses the digits of distances that are small beside |a|;
   `compute_mode` decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...engine.dispatch import as_non_view
from ...engine.registry import declare, example, name_node
from ...engine.tensor import Tensor, constant_like
from ...kernels import sums
from ...kernels.allocation import empty
from ..core import batching
from ..reduction.vector_norm import norm_input, norm_of
from .bilinear import check_dtypes

__all__ = ["cdist", "pdist"]

NECESSARY = "use_mm_for_euclid_dist_if_necessary"
COMPUTE_MODES = (NECESSARY, "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
MANY = 25  # points in one set: beyond, a product of matrices is deemed necessary
BLOCK = 1 << 18  # differences that are formed at once


def blocks(out: Any, columns: int) -> Iterator[slice]:
    """Slices of the rows of `out`, (*, P, R), whose differences in `columns` make up a block."""
    *lead, count, others = out.shape
    step = max(1, BLOCK // max(1, math.prod(lead) * others * columns))
    for start in range(0, count, step):
        yield slice(start, start + step)


def differences(x1: Any, x2: Any, rows: slice) -> Any:
    """The differences between rows of two sets, (*, rows, R, M), for some rows of the first."""
    return x1[..., rows, None, :] - x2[..., None, :, :]


def _cdist(x1: Any, x2: Any, *, p: float) -> Any:
    lead = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    dtype = np.result_type(x1, x2).type(0).real.dtype
    out = empty(x1, (*lead, x1.shape[-2], x2.shape[-2]), dtype)
    for rows in blocks(out, x1.shape[-1]):
        apart = differences(x1, x2, rows)
        if p == 0:  # how many differ; NaN stays
            apart = np.minimum(np.ceil(np.abs(apart)), 1)
        out[..., rows, :] = norm_of(apart, ord=p or 1.0, dim=(apart.ndim - 1,), keepdim=False)
    return out


def _pulled(xp: Any, g: Any, apart: Any, out: Any, p: float) -> Any:
    """The cotangent of differences. The largest of p = inf, if equal, get the whole of it each."""
    if p == math.inf:
        other = xp.abs(apart) != out[..., None]
        return xp.zero_where(g[..., None] * xp.sgn(apart), other)
    return norm_input(xp, g, apart, out, p, (len(apart.shape) - 1,), False)


def _shares(xp: Any, g: Any, x1: Any, x2: Any, out: Any, p: float, back: int) -> Iterator[Any]:
    """For each block, the cotangent of its differences summed over a dimension from the end."""
    for rows in blocks(out, x1.shape[-1]):
        apart = differences(x1, x2, rows)
        pulled = _pulled(xp, g[..., rows, :], apart, out[..., rows, :], p)
        yield xp.sum_dim(pulled, dim=(len(pulled.shape) - back,), keepdim=False)


def _cdist_x1(xp: Any, g: Any, x1: Any, x2: Any, out: Any, p: float) -> Any:
    shares = _shares(xp, g, x1, x2, out, p, 2)
    return xp.cat(*shares, dim=len(out.shape) - 2) if out.shape[-2] else xp.zeros_like(x1)


def _cdist_x2(xp: Any, g: Any, x1: Any, x2: Any, out: Any, p: float) -> Any:
    nothing = xp.zeros_like(x2)
    return -sum(_shares(xp, g, x1, x2, out, p, 3), xp.laid_out(nothing) if p else nothing)


_cdist_op = declare(
    "cdist(x1, x2, *, p)",
    _cdist,
    x1=_cdist_x1,
    x2=_cdist_x2,
    batch=batching.aligned("cdist"),
    examples=[example("3x2, 4x2", p=p) for p in (2.0, 1.0, 1.5, 3.0)]
    + [example("2x3x2, 2x1x2", p=2.0), example("0x2, 3x2", p=2.0), example("2x0, 3x0", p=3.0)],
    node_name="CdistBackward0",
    saved={"x1": "x1"},
    doc="""Distances between rows, block by block: NOTE [Distances].""",
)


def _euclidean(x1: Any, x2: Any) -> Any:
    check_dtypes(x1, x2)
    if x1.dtype.char not in "fdFD":
        return _euclidean(x1.astype(np.float32), x2.astype(np.float32)).astype(x1.dtype)
    first, second = (sums.dot(x, x)[..., None] for x in (x1, x2))
    rows = np.concatenate((x1 * -2, first, np.ones_like(first)), -1)
    columns = np.concatenate((x2, np.ones_like(second), second), -1)
    out = rows @ columns.swapaxes(-1, -2)
    return np.sqrt(np.maximum(out, 0, out=out), out=out)


def _euclidean_x1(xp: Any, g: Any, x1: Any, x2: Any, out: Any) -> Any:
    share = xp.div_or_zero(g, out)
    total = xp.sum_dim(share, dim=(len(share.shape) - 1,), keepdim=True)
    return x1 * total - xp.matmul(share, x2)


def _euclidean_x2(xp: Any, g: Any, x1: Any, x2: Any, out: Any) -> Any:
    dims = {"dim0": len(g.shape) - 2, "dim1": len(g.shape) - 1}
    return _euclidean_x1(xp, xp.transpose(g, **dims), x2, x1, xp.transpose(out, **dims))


_euclidean_op = declare(
    "euclidean_distance(x1, x2)",
    _euclidean,
    x1=_euclidean_x1,
    x2=_euclidean_x2,
    complex=False,
    batch=batching.aligned("euclidean_distance"),
    examples=["3x2, 4x2", "2x3x2, 1x2x2", "0x2, 3x2"],
    node_name="EuclideanDistBackward0",
    doc="""Distances between rows by a product of matrices: NOTE [Distances].""",
)


def _check_order(name: str, p: float) -> None:
    if not p >= 0:
        raise RuntimeError(f"{name} only supports non-negative p values, but got {p}")


def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """The p-norm distance between each row of `x1` and each of `x2`.

    x1: (*, P, M); x2: (*, R, M), whose batch dimensions broadcast; floating or complex. Returns
    real (*, P, R). p: 0 (how many entries differ) to infinity. For p = 2, `compute_mode`
    "use_mm_for_euclid_dist" multiplies matrices, which is fast but loses the digits of distances
    that are small beside the points; "donot_use_mm_for_euclid_dist" subtracts; by default, or with
    None, more than 25 points in either set are multiplied. Complex numbers never are. Where two
    points coincide, the derivative is 0. Raises RuntimeError for integers, fewer than two
    dimensions, other numbers of columns and a negative p, ValueError for another mode.

    >>> rg.cdist(rg.tensor([[0.0, 0.0], [3.0, 0.0]]), rg.tensor([[3.0, 4.0]]))
    tensor([[5.],
            [4.]])
    """
    for name, x in (("X1", x1), ("X2", x2)):
        if x._array.dtype.kind not in "fcV":
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, {name} got: {x.dtype}. Convert first: "
                f"x = x.float()"
            )
        if x._array.ndim < 2:
            raise RuntimeError(
                f"cdist only supports at least 2D tensors, {name} got: {x._array.ndim}D"
            )
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    _check_order("cdist", p)
    if compute_mode is not None and compute_mode not in COMPUTE_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    many = compute_mode in (None, NECESSARY) and max(x1.shape[-2], x2.shape[-2]) > MANY
    real = x1.dtype is x2.dtype and not x1.dtype.is_complex
    if p == 2 and real and (many or compute_mode == COMPUTE_MODES[1]):
        return _distances(_euclidean_op, x1, x2)
    return _distances(_cdist_op, x1, x2, p=float(p))


def _distances(op: Callable[..., Tensor], x1: Tensor, x2: Tensor, **params: Any) -> Tensor:
    """What `op` gives; a set that the whole of a stack shares is taken once, not once for each."""
    if x1.ndim == 2 < x2.ndim:
        return name_node(as_non_view(_distances(op, x2, x1, **params).mT), "CdistBackward0")
    if x2.ndim == 2 < x1.ndim:
        flat = x1.flatten(0, -2)
        made = op(flat, x2, **params).reshape(*x1.shape[:-1], x2.shape[0])
        return name_node(as_non_view(made), "CdistBackward0")
    return op(x1, x2, **params)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distance between every two rows of `input`, (N, M): the N (N - 1) / 2 pairs i < j.

    Everything else is as for `cdist`. Raises RuntimeError unless there are two dimensions.

    >>> rg.pdist(rg.tensor([[0.0], [1.0], [4.0]]))
    tensor([1., 4., 3.])
    """
    if input._array.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input._array.ndim}D")
    if input._array.dtype.kind not in "fcV":
        raise RuntimeError(
            f"pdist only supports floating-point dtypes, got: {input.dtype}. Convert first: "
            "x = x.float()"
        )
    _check_order("pdist", p)
    n = input.shape[0]
    first, second = np.triu_indices(n, 1)
    distances = _distances(_cdist_op, input, input, p=float(p))
    made = distances.reshape(n * n).index_select(0, constant_like(first * n + second, input))
    return name_node(made, "PdistBackward0")
