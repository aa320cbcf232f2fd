"""Cumulative forms along a dimension: sums, products, logarithms of sums, extrema, differences.

NOTE [Linear recurrences]
Products and log-sum-exps have derivatives of the shape `t[k] = g[k] + f[k] t[k-1]`, forwards or
backwards. The op `linear_recurrence` computes that in log2(n) vectorised steps, without a division,
and its own derivative is two more of it. So cumulative products are right to every order where
factors are zero, and log-sum-exps where the terms differ by any factor.

A record's `dim` may be None: the array is taken flattened, in C order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...engine.namespaces import recorded
from ...engine.registry import declare, example
from ...engine.tensor import Tensor
from ...kernels.allocation import full, known_true, table, zeros
from ...kernels.layout import as_it_lies, is_permuted
from ...kernels.memory import in_rows
from ...kernels.native.small import quick
from ...kernels.sums import accumulated, in_single
from ..core import batching, return_types
from ..core.arguments import public
from ..core.dims import place_of, rank, wrap_dim
from ..core.pointwise import unsupported
from .extrema import ordered
from .sum_prod import converted

__all__ = [
    "cummax", "cummin", "cumprod", "cumsum", "cumulative_trapezoid", "diff", "logcumsumexp",
    "trapezoid", "trapz",
]  # fmt: skip


def dim_first(x: Any, dim: int | None, reverse: bool = False) -> Any:
    """A view of `x` with `dim` in front, reversed if `reverse`."""
    x = x.reshape(-1) if dim is None or x.ndim == 0 else x.swapaxes(0, dim)
    return x[::-1] if reverse else x


def dim_back(x: Any, dim: int | None, shape: tuple[int, ...], reverse: bool = False) -> Any:
    """The inverse of `dim_first`, for an array of `shape`."""
    x = x[::-1] if reverse else x
    return x.reshape(shape) if dim is None or not shape else in_rows(x.swapaxes(0, dim))


def accumulator(x: Any) -> Any:
    """The dtype in which `x` is accumulated: int64 for integers, else the next wider one."""
    if x.dtype.char in "fdFD":
        return np.result_type(x.dtype, np.float64)
    return np.dtype(np.int64 if x.dtype.kind in "biu" else np.float32)


def result_dtype(x: Any) -> Any:
    """The dtype of a cumulative result: int64 for integers."""
    return np.dtype(np.int64) if x.dtype.kind in "biu" else x.dtype


DIMS = [
    example("5", dim=0),
    example("3x4", dim=0),
    example("2x3x2", dim=1),
    example("", dim=0),
    example("3x0", dim=1),
]
BOTH_WAYS = [
    example(e.specs[0], dim=e.params["dim"], reverse=r) for e in DIMS for r in (False, True)
]

# -- structure -----------------------------------------------------------------------------------


def _shift(input: Any, *, dim: int | None, by: int) -> Any:
    x = dim_first(input, dim)
    out = zeros(x, x.shape)
    if by > 0:
        out[by:] = x[:-by]
    else:
        out[:by] = x[-by:]
    return dim_back(out, dim, input.shape)


shift = declare(
    "shift(input, *, dim, by)",
    _shift,
    input=lambda xp, g, dim, by: xp.shift(g, dim=dim, by=-by),
    linear="input",
    batch=batching.along_dim("shift"),
    examples=[example(e.specs[0], dim=e.params["dim"], by=b) for e in DIMS for b in (1, -1)],
    doc="""Entries moved `by` places along `dim` (not 0), zeros moving in.""",
)


def _linear_recurrence(input: Any, factor: Any, *, dim: int | None, reverse: bool) -> Any:
    dtype = np.result_type(input, factor)
    out = dim_first(input, dim, reverse).astype(dtype)
    f = dim_first(factor, dim, reverse).astype(dtype)
    step = 1
    while step < len(
        out
    ):  # out[k] holds the last `step` terms, f[k] the product of as many factors
        out[step:] += f[step:] * out[:-step]
        f[step:] = f[step:] * f[:-step]
        step *= 2
    return dim_back(out, dim, input.shape, reverse)


def _linear_recurrence_adjoint(xp: Any, g: Any, factor: Any, dim: int | None, reverse: bool) -> Any:
    following = xp.shift(factor, dim=dim, by=1 if reverse else -1)
    return xp.linear_recurrence(g, xp.conj(following), dim=dim, reverse=not reverse)


linear_recurrence = declare(
    "linear_recurrence(input, factor, *, dim, reverse)",
    _linear_recurrence,
    input=_linear_recurrence_adjoint,
    factor=lambda xp, g, factor, out, dim, reverse: (
        _linear_recurrence_adjoint(xp, g, factor, dim, reverse)
        * xp.conj(xp.shift(out, dim=dim, by=-1 if reverse else 1))
    ),
    linear="input",
    batch=batching.along_dim("linear_recurrence"),
    examples=[example(f"{e.specs[0]}, {e.specs[0]}", **e.params) for e in BOTH_WAYS],
    doc="""`out[k] = input[k] + factor[k] * out[k-1]` along `dim`; from the end if `reverse`.""",
)


def _cumprod_before(input: Any, *, dim: int | None, reverse: bool) -> Any:
    if is_permuted(input) and dim is not None:
        return as_it_lies(_cumprod_before, input, dim=dim, reverse=reverse)
    x = dim_first(input, dim, reverse)
    out = np.ones_like(x)
    np.multiply.accumulate(x[:-1], 0, out=out[1:])
    return dim_back(out, dim, input.shape, reverse)


cumprod_before = declare(
    "cumprod_before(input, *, dim, reverse)",
    _cumprod_before,
    input=lambda xp, g, input, out, dim, reverse: (
        xp.conj(out)
        * xp.shift(
            xp.linear_recurrence(g, xp.conj(input), dim=dim, reverse=not reverse),
            dim=dim,
            by=1 if reverse else -1,
        )
    ),
    batch=batching.along_dim("cumprod_before"),
    examples=BOTH_WAYS,
    doc="""The product of all entries before each one along `dim`; of all after if `reverse`.""",
)

# -- sums, products, log-sum-exps ----------------------------------------------------------------


@quick("cumsum")
def _cumsum(input: Any, *, dim: int | None, reverse: bool) -> Any:
    x = dim_first(input, dim, reverse)
    out = np.add.accumulate(x, 0, accumulator(x)).astype(result_dtype(x), copy=False)
    if out.dtype.kind in "fcV" and out.size and known_true(np.any(out[0] == 0)):
        out = out + out.dtype.type(0)  # the sum begins with 0, so that of -0 is 0
    out = dim_back(out, dim, input.shape, reverse)
    return out if reverse else in_rows(out)


_cumsum_op = declare(
    "cumsum(input, *, dim, reverse)",
    _cumsum,
    input=lambda xp, g, dim, reverse: xp.cumsum(g, dim=dim, reverse=not reverse),
    linear="input",
    examples=BOTH_WAYS,
)


def _cumprod(input: Any, *, dim: int | None) -> Any:
    x = dim_first(input, dim)
    out = np.multiply.accumulate(x, 0, accumulator(x)).astype(result_dtype(x), copy=False)
    return dim_back(out, dim, input.shape)


_cumprod_op = declare(
    "cumprod(input, *, dim)",
    _cumprod,
    input=lambda xp, g, input, dim: (
        xp.linear_recurrence(g, xp.conj(xp.shift(input, dim=dim, by=-1)), dim=dim, reverse=True)
        * xp.conj(xp.cumprod_before(input, dim=dim, reverse=False))
    ),
    examples=DIMS,
)


@in_single
def _logcumsumexp(input: Any, *, dim: int | None) -> Any:
    if input.dtype.kind in "biu":
        raise unsupported("logcumsumexp", input.dtype, "Convert: x.float()")
    x = dim_first(input, dim)
    top = accumulated(np.maximum, x.real)
    fade = full(x, x.shape, 1)
    fade[1:] = np.where(top[:-1] == top[1:], 1, np.exp(top[:-1] - top[1:]))
    top = np.where(np.isfinite(top), top, top.dtype.type(0))
    if x.dtype.kind == "c":
        return dim_back(_complex_logcumsumexp(x, top, fade), dim, input.shape)
    out = np.log(_linear_recurrence(np.exp(x - top), fade, dim=0, reverse=False)) + top
    return dim_back(out.astype(x.dtype, copy=False), dim, input.shape)


def _complex_logcumsumexp(x: Any, top: Any, fade: Any) -> Any:
    """Along the first axis; infinite from the first infinite term on, whose angle it keeps.

    NaN is the angle of a sum of infinite terms that differ in theirs: it has no limit. A term with
    a part that is NaN makes all sums after it NaN.
    """
    x = np.where(np.isnan(x), x.dtype.type(complex(np.nan, np.nan)), x)
    endless = x.real == np.inf
    terms = np.where(endless, 0, np.exp(x - top)) + 0  # which makes -0 to 0, of angle 0
    out = (np.log(_linear_recurrence(terms, fade, dim=0, reverse=False)) + top).astype(x.dtype)
    angle = np.arctan2(np.sin(x.imag), np.cos(x.imag))
    least = accumulated(np.minimum, np.where(endless, angle, np.inf))
    most = accumulated(np.maximum, np.where(endless, angle, -np.inf))
    reached = accumulated(np.logical_or, endless) & ~np.isnan(out)
    out.imag[...] = np.where(reached, np.where(least == most, least, np.nan), out.imag)
    out.real[...] = np.where(reached, np.inf, out.real)
    return out


def _logcumsumexp_input(xp: Any, g: Any, input: Any, out: Any, dim: int | None) -> Any:
    before = xp.shift(out, dim=dim, by=1)
    rise = xp.zero_where(out - before, out == before)  # of infinity to infinity, too
    rise = xp.shift(rise, dim=dim, by=-1)  # to the next; last 0
    fade = xp.conj(xp.exp(-rise))
    return xp.linear_recurrence(g, fade, dim=dim, reverse=True) * xp.conj(xp.exp(input - out))


_logcumsumexp_op = declare(
    "logcumsumexp(input, *, dim)", _logcumsumexp, input=_logcumsumexp_input, examples=DIMS
)


@public(out="dtype", methods="cumsum cumsum_")
def cumsum(input: Tensor, dim: Any = None, *, dtype: Any = None) -> Tensor:
    """Sums of the elements up to each one along `dim`, of the input's shape.

    Booleans and integers give int64; `dtype` converts first. Raises IndexError for a dim out of
    range.

    >>> rg.cumsum(rg.tensor([1.0, 2.0, 3.0]), 0)
    tensor([1., 3., 6.])
    """
    at = wrap_dim(input, dim)
    return converted(_cumsum_op(converted(input, dtype), dim=at, reverse=False), dtype)


@public(out="dtype", methods="cumprod cumprod_")
def cumprod(input: Tensor, dim: Any = None, *, dtype: Any = None) -> Tensor:
    """Products of the elements up to each one along `dim`, of the input's shape; like `cumsum`.

    Derivatives hold to every order where elements are zero.

    >>> rg.cumprod(rg.tensor([1.0, 2.0, 3.0]), 0)
    tensor([1., 2., 6.])
    """
    at = wrap_dim(input, dim)
    return converted(_cumprod_op(converted(input, dtype), dim=at), dtype)


@public(out=True, methods="logcumsumexp")
def logcumsumexp(input: Tensor, dim: Any = None) -> Tensor:
    """Logarithm of the cumulative sum of exponentials along `dim`, without overflow.

    Real, or complex with the principal imaginary part. Raises NotImplementedError for integers.

    >>> rg.logcumsumexp(rg.tensor([1000.0, 1000.0]), 0)
    tensor([1000.0000, 1000.6932])
    """
    return _logcumsumexp_op(input, dim=wrap_dim(input, dim))


# -- extrema -------------------------------------------------------------------------------------


def cumulative_extremum(ufunc: Any, name: str) -> Any:
    """The forward of `cummax` or `cummin`: values, and the index of the latest that equals them."""

    def forward(input: Any, *, dim: int | None) -> Any:
        x = dim_first(ordered(input, name), dim)
        values = accumulated(ufunc, x)
        steps = table(x, np.arange(len(x)).reshape([-1] + [1] * (x.ndim - 1)))
        taken = (x == values) | np.isnan(x)
        indices = accumulated(np.maximum, np.where(taken, steps, 0))
        return dim_back(values, dim, input.shape), dim_back(indices, dim, input.shape)

    return forward


_cumulative_extrema = {
    name: declare(
        f"{name}(input, *, dim) -> values, indices",
        cumulative_extremum(ufunc, name),
        input=lambda xp, g, indices, dim, input_shape: xp.put_along(
            g, indices, dim=dim, shape=input_shape
        ),
        nondiff=["indices"],
        complex=False,
        examples=DIMS,
    )
    for name, ufunc in (("cummax", np.maximum), ("cummin", np.minimum))
}


@public(out=True, methods="cummax")
def cummax(input: Tensor, dim: Any = None) -> Any:
    """The largest element up to each one along `dim`, and where: a pair (values, indices).

    Of equal elements the latest is named, and gets the cotangent; NaN counts as largest, and so
    does the largest modulus of complex numbers, unless `by` says otherwise.

    >>> rg.cummax(rg.tensor([1.0, 3.0, 2.0]), 0).values
    tensor([1., 3., 3.])
    """
    return return_types.cummax(*_cumulative_extrema["cummax"](input, dim=wrap_dim(input, dim)))


@public(out=True, methods="cummin")
def cummin(input: Tensor, dim: Any = None) -> Any:
    """The smallest element up to each one along `dim`, and where; like `cummax`.

    >>> rg.cummin(rg.tensor([2.0, 3.0, 1.0]), 0).indices
    tensor([0, 0, 2])
    """
    return return_types.cummin(*_cumulative_extrema["cummin"](input, dim=wrap_dim(input, dim)))


# -- differences and integrals -------------------------------------------------------------------


def neighbours(input: Tensor, dim: int) -> tuple[Any, Any]:
    """Along `dim`: everything but the first element, and everything but the last."""
    n = max(input.shape[dim] - 1, 0)
    return input.narrow(dim, min(1, input.shape[dim]), n), input.narrow(dim, 0, n)


def check_joined(input: Tensor, part: Tensor, dim: int) -> None:
    """Raise unless `part` can be joined to an end of `input` along `dim`."""
    if rank(part) != rank(input):
        raise RuntimeError(
            "diff expects prepend or append to be the same dimension as input, got "
            f"{rank(part)} and {rank(input)} dimensions"
        )
    for at, (own, other) in enumerate(zip(input.shape, part.shape, strict=True)):
        if at != dim and own != other:
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input "
                f"except along the differencing dimension; input.size({at}) = {own}, but got "
                f"tensor.size({at}) = {other}"
            )


@public(out=True, methods="diff")
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Differences of neighbours along `dim`, taken `n` times; each time one element fewer.

    `prepend` and `append` are joined to the ends first; booleans give exclusive or. Raises
    RuntimeError for a 0-d tensor, a negative `n`, and ends of another shape.

    >>> rg.diff(rg.tensor([1.0, 4.0, 9.0]))
    tensor([3., 5.])
    """
    if rank(input) == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    parts = [part for part in (prepend, input, append) if part is not None]
    at = wrap_dim(input, dim) if n or len(parts) > 1 else 0
    for part in parts:
        check_joined(input, part, at)
    if n == 0:
        return input.clone()
    result = input if len(parts) == 1 else recorded.cat(*parts, dim=at)
    for _ in range(min(n, result.shape[at])):
        after, before = neighbours(result, at)
        change = recorded.ne if result.dtype == dtypes.boolean else recorded.sub
        result = change(after, before)
    return result


def _long(x: Tensor) -> Tensor:
    """Integers and booleans in 64 bits, in which sums and differences do not wrap around."""
    return x.long() if x._array.dtype.kind in "biu" else x


def trapezoids(y: Tensor, x: Tensor | None, dx: Any, dim: int) -> tuple[Tensor, int]:
    """The areas of the trapezoids between neighbours along `dim`, and which of their dims it is."""
    at = place_of(dim, rank(y))
    y, x = _long(y), x if x is None else _long(x)
    after, before = neighbours(y, at)
    if x is None:
        return (after + before) * ((1 if dx is None else dx) / 2), at
    if dx is not None:
        raise TypeError("trapezoid() takes either x or dx, not both")
    if x.ndim <= 1:
        if x.shape != (y.shape[at],):
            raise RuntimeError(
                f"There must be one `x` value for each sample point, but x has shape "
                f"{list(x.shape)} and y has {y.shape[at]} along dimension {at}"
            )
        x = x.reshape([-1 if i == at else 1 for i in range(y.ndim)])
    right, left = neighbours(x, x.ndim - y.ndim + at)
    areas = (after + before) * (right - left) / 2
    return areas, at + areas.ndim - y.ndim


@public()
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """Integral along `dim` by the trapezoidal rule, with sample points `x` or spacing `dx` (1).

    `x` has one dimension, or broadcasts with `y`, of which `dim` is one. Raises RuntimeError for
    other numbers of points.

    >>> rg.trapezoid(rg.tensor([1.0, 2.0, 3.0]), dx=2)
    tensor(8.)
    """
    areas, at = trapezoids(y, x, dx, dim)
    return areas.sum(at)


@public()
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1
) -> Tensor:
    """The integrals up to each sample but the first; arguments as for `trapezoid`.

    >>> rg.cumulative_trapezoid(rg.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
    areas, at = trapezoids(y, x, dx, dim)
    return cumsum(areas, at)


trapz = trapezoid
