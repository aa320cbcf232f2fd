"""NumPy's functions of one variable: grids, interpolation, polynomials and convolutions of tensors.

Arguments are NumPy's, in its order; what is not here is refused. Every function is a composition,
so none knows a derivative.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops
from ..engine.tensor import Tensor
from . import array_api as api
from .array_api.arguments import pair
from .numpy_layout import array_of, tensors
from .numpy_math import lstsq
from .numpy_reductions import floating

__all__: list[str] = []

# -- grids ---------------------------------------------------------------------------------------


def shares(num: int, endpoint: bool, like: Tensor) -> Tensor:
    """The places of a grid's points between its ends, from 0 to 1, (num, 1, ...) beside `like`."""
    steps = max(num - 1 if endpoint else num, 1)
    kind = like.real.dtype if ops.is_complex(like) else like.dtype
    return (ops.arange(num, dtype=kind) / steps).reshape(num, *(1,) * like.ndim)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    *,
    axis: int = 0,
) -> Any:
    """Numbers at equal distances, along a new axis; and the distance, if asked for."""
    start, stop = map(floating, tensors([start, stop]))
    start, stop = ops.broadcast_tensors(start, stop)
    found = ops.movedim(
        ops.lerp(start, stop, shares(num, endpoint, start).to(start.dtype)), 0, axis
    )
    if dtype is not None:
        found = (found if dtype.is_floating_point or dtype.is_complex else found.floor()).to(dtype)
    steps = num - 1 if endpoint else num
    return (found, (stop - start) / (steps or math.nan)) if retstep else found


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    *,
    axis: int = 0,
) -> Tensor:
    """Powers of `base` with exponents at equal distances."""
    base, start, stop = tensors([base, start, stop])
    start, stop, base = ops.broadcast_tensors(start, stop, base)
    found = ops.movedim(base ** linspace(start, stop, num, endpoint), 0, axis)
    return found if dtype is None else found.to(dtype)


def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, *, axis: int = 0
) -> Tensor:
    """Numbers of equal ratios: on a spiral, if they are complex."""
    start, stop = map(floating, tensors([start, stop]))
    if bool((start == 0).any() | (stop == 0).any()):
        raise ValueError("Geometric sequence cannot include zero")
    start, stop = ops.broadcast_tensors(start, stop)
    found = ops.movedim(start * (stop / start) ** shares(num, endpoint, start), 0, axis)
    return found if dtype is None else found.to(dtype)


# -- interpolation, phases -----------------------------------------------------------------------


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Tensor:
    """Linear interpolation of the values `fp` at increasing places `xp`; beyond, those at the ends.

    Differentiable in the places and in the values. With a period there is nothing beyond.
    """
    x, at, fp = map(floating, tensors([x, xp, fp]))
    if at.ndim != 1 or at.shape != fp.shape or not len(at):
        raise ValueError(
            "interp(): fp and xp are not of the same length, or no vectors: shapes "
            f"{list(fp.shape)} and {list(at.shape)}"
        )
    if ops.is_complex(x):
        x, at = ops.real(x), ops.real(at)
    if period is not None:
        x, at = api.remainder(x, abs(period)), api.remainder(at, abs(period))
        order = ops.argsort(at)
        at, fp = at[order], fp[order]
        at = ops.cat([at[-1:] - abs(period), at, at[:1] + abs(period)])
        fp = ops.cat([fp[-1:], fp, fp[:1]])
    before = (ops.searchsorted(at.detach(), x.detach(), right=True) - 1).clip(0)
    after = (before + 1).clip(max=len(at) - 1)
    width = ops.where(after == before, 1.0, at[after] - at[before])
    found = fp[before] + (fp[after] - fp[before]) / width * (x - at[before])
    if period is not None:
        return found
    found = ops.where(x < at[0], fp[0] if left is None else left, found)
    return found if right is None else ops.where(x > at[-1], right, found)


def unwrap(
    p: Tensor, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi
) -> Tensor:
    """Phases without jumps of more than `discont`, by multiples of the period."""
    p = floating(p)
    steps = ops.diff(p.detach(), dim=axis)
    wrapped = api.remainder(steps + period / 2, period) - period / 2
    wrapped = ops.where((wrapped == -period / 2) & (steps > 0), period / 2, wrapped)
    limit = period / 2 if discont is None else discont
    turns = ops.where(ops.abs(steps) < limit, 0.0, wrapped - steps)
    first = ops.zeros_like(p.narrow(axis, 0, min(1, p.shape[axis])))
    return p + ops.cat([first, ops.cumsum(turns, axis)], axis)


# -- polynomials, their coefficients from the highest --------------------------------------------


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of the elements of a vector, as the rows of a matrix."""
    columns = [ops.ones_like(x)]
    for _ in range(1, len(x) if N is None else N):
        columns.append(columns[-1] * x)
    found = ops.stack(columns[: len(x) if N is None else N], -1)
    return found if increasing else ops.flip(found, -1)


def polyval(p: Any, x: Any) -> Tensor:
    """The polynomial at `x`."""
    p, x = tensors([p, x])
    found = ops.zeros_like(x)
    for coefficient in p.unbind(0):
        found = found * x + coefficient
    return found


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: Any = False,
) -> Any:
    """The polynomial of degree `deg` that is nearest to the values `y` (n,) or (n, k) at `x` (n,).

    `w` are weights of what is left, by each; `full` gives what `lstsq` gives, too, `cov` the
    covariances of the coefficients.
    """
    x, y = map(floating, tensors([x, y]))
    rcond = len(x) * float(np.finfo(x._array.dtype).eps) if rcond is None else rcond
    left, right = vander(x, deg + 1), y
    if w is not None:
        w = array_of(w).to(x.dtype)
        left, right = left * w[:, None], (right.T * w).T
    scale = ops.sqrt((left * left).sum(0))
    found, rest, rank, values = lstsq(left / scale, right, rcond)
    found = (found.T / scale).T
    if full:
        return found, rest, rank, values, rcond
    if not cov:
        return found
    scaled = left / scale
    spread = api.linalg.inv(scaled.T @ scaled) / scale[:, None] / scale
    if cov == "unscaled":
        return found, spread
    if len(x) <= deg + 1:
        raise ValueError("the number of data points must exceed order to scale the covariance")
    size = rest / (len(x) - deg - 1)
    return found, spread * size if y.ndim == 1 else spread[:, :, None] * size


# -- convolution ---------------------------------------------------------------------------------


def convolve(a: Any, v: Any, mode: str = "full") -> Tensor:
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


def correlate(a: Any, v: Any, mode: str = "valid") -> Tensor:
    """Sums of one vector times the other, moved along it and conjugated."""
    a, v = pair(a, v)
    if len(a) < len(v):  # the same sums in reverse, of which "same" takes others
        return ops.conj(ops.flip(correlate(v, a, mode), 0))
    return convolve(a, ops.conj(ops.flip(v, 0)), mode)
