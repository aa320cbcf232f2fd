"""Reductions and normalizations of the elements that a mask keeps, as torch.masked has them.

An element whose mask is False counts as the identity of the operation (0 for sums, 1 for products,
-inf for maxima, ...), gets no cotangent, and may be NaN. `mask` broadcasts to the input, which it
must not exceed in dimensions; None keeps everything. `dim` is one dimension, several or None for
all. Where a mask keeps nothing, a sum is 0, a product 1, an extremum the identity, and what has
none (mean, median, var, std, softmax) is NaN.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .... import dtypes
from ....engine.namespaces import recorded
from ....engine.tensor import Tensor, constant_like
from ....ops.activation import softmax as unmasked
from ....ops.core.dims import wrap_dim, wrap_dims
from ....ops.reduction import extrema, scan, sum_prod
from ....ops.reduction.vector_norm import vector_norm

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp",
    "logsumexp", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum",
    "var",
]  # fmt: skip


def whole_mask(input: Tensor, mask: Tensor) -> Tensor:
    """The mask as booleans in the shape of `input`; IndexError if it has more dimensions."""
    if mask._array.ndim > input._array.ndim:
        raise IndexError(
            "expected a broadcastable mask, but got mask dimensionality higher than of the input: "
            f"{list(mask.shape)} for {list(input.shape)}"
        )
    found = mask if mask._array.dtype.kind == "b" else mask.bool()
    return found if found._array.shape == input._array.shape else found.expand(input._array.shape)


def fill_masked(input: Tensor, mask: Tensor | None, identity: Any) -> Tensor:
    """`input` with `identity` where the mask drops; for integers, their limit in place of inf."""
    if mask is None:
        return input
    dtype = input._array.dtype
    if dtype.kind in "iu" and math.isinf(identity):
        limits = np.iinfo(dtype)
        identity = limits.max if identity > 0 else limits.min
    neutral = constant_like(np.asarray(identity, dtype), input)
    return recorded.where(whole_mask(input, mask), input, neutral)


def accumulation_dtype(input: Tensor, dtype: Any) -> Any:
    """The dtype of a sum or product: int64 for integers, unless one is given."""
    if dtype is not None:
        return dtype
    return dtypes.int64 if input.dtype.category < 2 else input.dtype


def sum(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """Sum of the elements kept. Source: PyTorch's `masked.sum`.

    >>> rg.masked.sum(rg.tensor([1.0, 2.0, 4.0]), mask=rg.tensor([True, False, True]))
    tensor(5.)
    """
    return sum_prod.sum(
        fill_masked(input, mask, 0), dim, keepdim, dtype=accumulation_dtype(input, dtype)
    )


def prod(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """Product of the elements kept, over several dimensions too. Source: `masked.prod`.

    >>> rg.masked.prod(rg.tensor([3.0, 0.0, 4.0]), mask=rg.tensor([True, False, True]))
    tensor(12.)
    """
    found = sum_prod.converted(fill_masked(input, mask, 1), accumulation_dtype(input, dtype))
    for d in reversed(wrap_dims(input, dim)):
        found = sum_prod.prod(found, d, keepdim)
    return found


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """Sums up to each element along `dim`, of those kept; of the input's dtype.

    Source: PyTorch's `masked.cumsum`.

    >>> rg.masked.cumsum(rg.tensor([1.0, 2.0, 4.0]), 0, mask=rg.tensor([True, False, True]))
    tensor([1., 1., 5.])
    """
    return scan.cumsum(fill_masked(input, mask, 0), dim, dtype=dtype or input.dtype)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """Products up to each element along `dim`, of those kept; like `cumsum`.

    >>> rg.masked.cumprod(rg.tensor([3.0, 0.0, 4.0]), 0, mask=rg.tensor([True, False, True]))
    tensor([ 3.,  3., 12.])
    """
    return scan.cumprod(fill_masked(input, mask, 1), dim, dtype=dtype or input.dtype)


def amax(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """Largest of the elements kept; equal ones share the cotangent. Source: `masked.amax`.

    >>> rg.masked.amax(rg.tensor([3.0, 5.0, 4.0]), mask=rg.tensor([True, False, True]))
    tensor(4.)
    """
    return sum_prod.converted(
        extrema.amax(fill_masked(input, mask, extrema.least(input._array)), dim, keepdim), dtype
    )


def amin(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """Smallest of the elements kept; like `amax`. Source: PyTorch's `masked.amin`.

    >>> rg.masked.amin(rg.tensor([3.0, 1.0, 4.0]), mask=rg.tensor([True, False, True]))
    tensor(3.)
    """
    return sum_prod.converted(extrema.amin(fill_masked(input, mask, math.inf), dim, keepdim), dtype)


def argmax(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """Where the first largest of the elements kept is, as in PyTorch in the input's dtype.

    `dtype=retrograd.int64` makes it an index. Source: PyTorch's `masked.argmax`.

    >>> rg.masked.argmax(rg.tensor([3, 5, 4]), mask=rg.tensor([True, False, True]))
    tensor(2)
    """
    found = extrema.argmax(fill_masked(input, mask, extrema.least(input._array)), dim, keepdim)
    return sum_prod.converted(found, dtype or input.dtype)


def argmin(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """Where the first smallest of the elements kept is, as in PyTorch in the input's dtype.

    `dtype=retrograd.int64` makes it an index. Source: PyTorch's `masked.argmin`.

    >>> rg.masked.argmin(rg.tensor([3, 1, 4]), mask=rg.tensor([True, False, True]))
    tensor(0)
    """
    found = extrema.argmin(fill_masked(input, mask, math.inf), dim, keepdim)
    return sum_prod.converted(found, dtype or input.dtype)


def number(input: Tensor, dim: Any, mask: Tensor | None, keepdim: bool) -> Tensor:
    """How many elements are kept, as int64."""
    ones = constant_like(np.ones(input._array.shape, np.bool_), input)
    return sum_prod.sum(ones if mask is None else whole_mask(input, mask), dim, keepdim)


def mean(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """Mean of the elements kept, NaN where there is none.

    Raises ValueError for integers unless `dtype` converts them. Source: PyTorch's `masked.mean`.

    >>> rg.masked.mean(rg.tensor([1.0, 2.0, 4.0]), mask=rg.tensor([True, False, True]))
    tensor(2.5000)
    """
    target = dtype or input.dtype
    if target.category < 2:
        raise ValueError(
            "mean(): Could not infer output dtype. The dtype must be either a floating point or "
            f"complex dtype. Got: {target}. Write dtype=retrograd.float32"
        )
    total = sum(input, dim, keepdim=keepdim, dtype=target, mask=mask)
    return recorded.div(total, number(input, dim, mask, keepdim))


def median(
    input: Tensor, dim: Any = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """Median of the elements kept along one dimension, the lower of two; NaN where there is none.

    Over everything where `dim` is None. NaN elements are dropped too. Raises ValueError where an
    integer tensor has no element to choose. Source: PyTorch's `masked.median`.

    >>> rg.masked.median(rg.tensor([1.0, 9.0, 4.0]), 0, mask=rg.tensor([True, False, True]))
    tensor(1.)
    """
    floats = (
        input if input.dtype.category >= 2 else input.to(dtypes.of_numpy(dtypes.default_numpy()))
    )
    kept = fill_masked(floats, mask, math.nan)
    found: Tensor = (
        extrema.nanmedian(kept) if dim is None else extrema.nanmedian(kept, dim, keepdim).values
    )
    if floats is input:
        return found
    if np.isnan(found._array).any():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point. "
            "Convert first: x.float()"
        )
    return found.to(dtype or input.dtype)


def logsumexp(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """Logarithm of the sum of exponentials of the elements kept, of the input's dtype.

    Source: PyTorch's `masked.logsumexp`.

    >>> rg.masked.logsumexp(rg.tensor([0.0, 9.0, 0.0]), mask=rg.tensor([True, False, True]))
    tensor(0.6931)
    """
    found = unmasked.logsumexp(fill_masked(input, mask, -math.inf), wrap_dims(input, dim), keepdim)
    return sum_prod.converted(found, dtype or input.dtype)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Any = None,
    other_mask: Any = None,
) -> Tensor:
    """log(exp(input) + exp(other)), each where its mask keeps it. Source: `masked.logaddexp`.

    >>> x, y = rg.tensor([0.0, 1.0]), rg.tensor([0.0, 2.0])
    >>> rg.masked.logaddexp(x, y, input_mask=rg.tensor([True, False]))
    tensor([0.6931, 2.0000])
    """
    parts = fill_masked(input, input_mask, -math.inf), fill_masked(other, other_mask, -math.inf)
    return sum_prod.converted(recorded.logaddexp(*parts), dtype or input.dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Tensor:
    """Vector norm of the elements kept; `ord` as for `linalg.vector_norm`. Source: `masked.norm`.

    >>> rg.masked.norm(rg.tensor([3.0, 9.0, 4.0]), mask=rg.tensor([True, False, True]))
    tensor(5.)
    """
    order = 2.0 if ord is None else ord
    x = fill_masked(input, mask, math.inf if order == -math.inf else 0)
    return vector_norm(x, order, dim, keepdim, dtype=dtype)


def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Tensor:
    """Variance of the elements kept: the sum of |x - mean|² over their number less `correction`.

    `correction` is 1 by default; the older `unbiased=False` means 0. Integers give float32; a wider
    `dtype` holds all steps. NaN without degrees of freedom. Raises TypeError where both are given.
    Source: `masked.var`.

    >>> rg.masked.var(rg.tensor([1.0, 9.0, 3.0]), mask=rg.tensor([True, False, True]))
    tensor(2.)
    """
    if unbiased is not None and correction is not None:
        raise TypeError("var(): give either unbiased or correction, not both")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    floating = dtypes.float32 if input.dtype.category < 2 else input.dtype
    wide = floating if dtype is None else dtypes.promote_types(floating, dtype)
    x: Any = fill_masked(sum_prod.converted(input, wide), mask, 0)
    x = x - mean(x, dim, keepdim=True, mask=mask)
    total = sum(x * recorded.conj(x), dim, keepdim=keepdim, mask=mask)
    freedom: Any = number(input, dim, mask, keepdim) - correction
    spread = recorded.div(total, freedom.clamp(min=0))
    return sum_prod.converted(spread, dtype or floating)


def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Tensor:
    """Standard deviation of the elements kept, the square root of `var`; arguments as there.

    Source: PyTorch's `masked.std`.

    >>> rg.masked.std(rg.tensor([1.0, 9.0, 3.0]), mask=rg.tensor([True, False, True]))
    tensor(1.4142)
    """
    spread = var(
        input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask
    )
    return recorded.sqrt(spread)


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """`softmax` along `dim` over the elements kept, and 0 for the others. Source: `masked.softmax`.

    >>> rg.masked.softmax(rg.tensor([0.0, 9.0, 0.0]), 0, mask=rg.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return unmasked.softmax(fill_masked(input, mask, -math.inf), dim, dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """The logarithm of `softmax`: -inf for the elements dropped. Source: `masked.log_softmax`.

    >>> rg.masked.log_softmax(rg.tensor([0.0, 9.0, 0.0]), 0, mask=rg.tensor([True, False, True]))
    tensor([-0.6931,    -inf, -0.6931])
    """
    return unmasked.log_softmax(fill_masked(input, mask, -math.inf), dim, dtype)


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """`softmax` of the negated input. Source: PyTorch's `masked.softmin`.

    >>> rg.masked.softmin(rg.tensor([0.0, -9.0, 0.0]), 0, mask=rg.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return unmasked.softmin(fill_masked(input, mask, math.inf), dim, dtype)


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None
) -> Tensor:
    """The elements kept, divided by their norm along `dim` or by `eps` if that is larger.

    What is dropped is 0. Source: PyTorch's `masked.normalize`.

    >>> rg.masked.normalize(rg.tensor([3.0, 9.0, 4.0]), 2.0, 0, mask=rg.tensor([True, False, True]))
    tensor([0.6000, 0.0000, 0.8000])
    """
    wrap_dim(input, dim)
    size: Any = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    least = constant_like(np.asarray(eps, size._array.dtype), size)
    return recorded.div(fill_masked(input, mask, 0), recorded.maximum(size, least))
