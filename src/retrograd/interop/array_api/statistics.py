"""Reductions, running sums and questions about all elements, under the standard's names."""

from __future__ import annotations

from typing import Any

from ... import dtypes, ops
from ...engine.tensor import Tensor
from ...ops.core.dims import wrap_dims
from ...ops.tensor.conversion import convert
from .arguments import numpys_order, one_axis, promoted, reduced

__all__ = [
    "all", "any", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "max", "mean",
    "min", "prod", "std", "sum", "var",
]  # fmt: skip


def widened(x: Tensor, dtype: Any) -> Tensor:
    """`x` with the dtype in which it is summed: the given one, or 64 bits for integers."""
    if dtype is not None:
        return convert(x, dtypes.to_numpy(dtype))
    kind = x._array.dtype.kind
    if kind not in "biu":
        return x
    return convert(x, (dtypes.uint64 if kind == "u" else dtypes.int64).numpy)


def sum(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum over `axis`, an integer or several, or over everything; integers in 64 bits.

    >>> xp.sum(xp.asarray([[1, 2], [3, 4]]), axis=0)
    tensor([4, 6])
    """
    x = widened(x, dtype)
    return reduced(ops.sum, x, axis, keepdims, dtype=x.dtype)


def prod(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The product over `axis`, an integer or several, or over everything; integers in 64 bits.

    >>> xp.prod(xp.asarray([[1, 2], [3, 4]]), axis=(0, 1))
    tensor(24)
    """
    x = widened(x, dtype)
    if axis is not None and not isinstance(axis, tuple):
        return ops.prod(x, axis, keepdims, dtype=x.dtype)
    for place in sorted(wrap_dims(x, axis), reverse=True) if axis != () else ():
        x = ops.prod(x, place, keepdims, dtype=x.dtype)
    return x


def mean(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean over `axis`, or over everything.

    >>> xp.mean(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    tensor([2., 3.])
    """
    return reduced(ops.mean, x, axis, keepdims)


def var(
    x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The variance over `axis`, divided by the count less `correction`.

    >>> xp.var(xp.asarray([1.0, 3.0])), xp.var(xp.asarray([1.0, 3.0]), correction=1)
    (tensor(1.), tensor(2.))
    """
    return reduced(ops.var, x, axis, keepdims, correction=correction)


def std(
    x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The standard deviation over `axis`: the root of `var`.

    >>> xp.std(xp.asarray([1.0, 3.0]))
    tensor(1.)
    """
    return reduced(ops.std, x, axis, keepdims, correction=correction)


def max(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest element over `axis`; the gradient is shared among equal ones.

    >>> xp.max(xp.asarray([[1, 2], [3, 0]]), axis=0)
    tensor([3, 2])
    """
    return reduced(ops.amax, x, axis, keepdims, **numpys_order(x))


def min(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The smallest element over `axis`; the gradient is shared among equal ones.

    >>> xp.min(xp.asarray([[1, 2], [3, 0]]), axis=0)
    tensor([1, 0])
    """
    return reduced(ops.amin, x, axis, keepdims, **numpys_order(x))


def all(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether every element over `axis` is true.

    >>> xp.all(xp.asarray([[1, 2], [3, 0]]), axis=0)
    tensor([ True, False])
    """
    return reduced(ops.all, x != 0, axis, keepdims)


def any(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether some element over `axis` is true.

    >>> xp.any(xp.asarray([[1, 0], [3, 0]]), axis=0)
    tensor([ True, False])
    """
    return reduced(ops.any, x != 0, axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """How many elements over `axis` are not zero.

    >>> xp.count_nonzero(xp.asarray([[1, 0], [3, 0]]), axis=0)
    tensor([2, 0])
    """
    return sum(x != 0, axis=axis, keepdims=keepdims)


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Tensor:
    """The sums of the first elements along `axis`, from none on if `include_initial`.

    Raises ValueError where `axis` is left out and there are several.

    >>> xp.cumulative_sum(xp.asarray([1, 2, 3]), include_initial=True)
    tensor([0, 1, 3, 6])
    """
    x, axis = one_axis(ops.atleast_1d(widened(x, dtype)), axis, "cumulative_sum")
    found = ops.cumsum(x, axis, dtype=x.dtype)
    return preceded(found, 0, axis) if include_initial else found


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Tensor:
    """The products of the first elements along `axis`, from none on if `include_initial`.

    Raises ValueError where `axis` is left out and there are several.

    >>> xp.cumulative_prod(xp.asarray([1, 2, 3]))
    tensor([1, 2, 6])
    """
    x, axis = one_axis(ops.atleast_1d(widened(x, dtype)), axis, "cumulative_prod")
    found = ops.cumprod(x, axis, dtype=x.dtype)
    return preceded(found, 1, axis) if include_initial else found


def preceded(x: Tensor, value: int, axis: int) -> Tensor:
    """`x` with one more element, `value`, before the first along `axis`."""
    shape = list(x.shape)
    shape[axis] = 1
    return ops.cat([ops.full(shape, value, dtype=x.dtype), x], axis)


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """The differences of neighbours along `axis`, taken `n` times, between added ends.

    >>> xp.diff(xp.asarray([1, 4, 9]), prepend=xp.asarray([0]))
    tensor([1, 3, 5])
    """
    parts = [part for part in (prepend, x, append) if part is not None]
    return ops.diff(ops.cat(promoted(parts), axis) if len(parts) > 1 else x, n, axis)
