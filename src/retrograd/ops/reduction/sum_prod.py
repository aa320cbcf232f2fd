"""Sums, means and products over all elements or some dimensions, counts, any and all.

Where a reduction over everything is hot it has a record of its own without parameters, as in
PyTorch: `sum` beside `sum_dim`. A record's `dim` is a sorted tuple counted from the front, empty
for a 0-d tensor; the public functions take what users write.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.namespaces import recorded
from ...engine.registry import declare, example
from ...engine.tensor import Tensor
from ...kernels import sums
from ...kernels.allocation import empty
from ...kernels.layout import Turned
from ...kernels.native.small import quick
from ..core import batching
from ..core.arguments import public
from ..core.dims import as_number, check_kept, wrap_dim, wrap_dims
from ..core.engine_ops import SMALL

__all__ = ["all", "any", "count_nonzero", "mean", "nanmean", "nansum", "prod", "sum"]

add_reduce: Any = np.add.reduce  # Any: NumPy's stubs know no positional keepdims

DIMS = [
    example("3x4", dim=(0,), keepdim=False),
    example("2x3x2", dim=(0, 2), keepdim=False),
    example("2x3", dim=(1,), keepdim=True),
    example("3x0", dim=(1,), keepdim=False),
    example("", dim=(), keepdim=False),
]
ALL = ["3x4", "", "0"]


def converted(input: Tensor, dtype: Any) -> Tensor:
    """`input` as `dtype`, a public dtype or None: what the `dtype=` of reductions does first."""
    if dtype is None or input.dtype == dtype:
        return input
    target = dtypes.to_numpy(dtype)
    source = input if dtypes.is_differentiable(target) else input.detach()
    return recorded.cast(source, dtype=target)


@quick("sum_dim")
def add_up(x: Any, dim: Any, keepdim: bool = False) -> Any:
    """Sums over `dim`: integers as int64, half floats accumulated in float32."""
    if x.size < sums.LARGE and x.dtype.char in "fdFD":
        return sums.reduced(np.add, x, dim, None, keepdim)
    if x.dtype.kind in "biu":
        return sums.reduced(np.add, x, dim, np.int64, keepdim)
    return sums.total(x, dim, keepdim)


def count(shape: tuple[int, ...], dim: tuple[int, ...]) -> int:
    """The number of elements that a reduction of `shape` over `dim` takes together."""
    return math.prod([shape[d] for d in dim])


@quick("unreduce")
def _unreduce(input: Any, *, dim: Any, keepdim: bool, shape: Any) -> Any:
    if shape is None:
        return np.expand_dims(input, () if keepdim else dim)
    if not keepdim:
        input = input.reshape([1 if i in dim else n for i, n in enumerate(shape)])
    if shape.__class__ is Turned or math.prod(shape) >= SMALL:
        return np.broadcast_to(input, shape)
    out = empty(input, shape)  # later arithmetic wants real strides
    out[...] = input
    return out


unreduce = declare(
    "unreduce(input, *, dim, keepdim, shape)",
    _unreduce,
    input=lambda xp, g, dim, keepdim: xp.sum_dim(g, dim=dim, keepdim=keepdim),
    linear="input",
    view="maybe",
    examples=[
        example("3", dim=(1,), keepdim=False, shape=(3, 2)),
        example("3x1", dim=(1,), keepdim=True, shape=(3, 2)),
        example("3", dim=(0, 2), keepdim=False, shape=None),
        example("", dim=(), keepdim=False, shape=()),
    ],
    doc="""The adjoint of a sum over `dim`: its dims put back, with size 1 if `shape` is None.""",
)

# -- sums and means ------------------------------------------------------------------------------


@quick("sum")
def _sum_all(x: Any) -> Any:
    if x.size < sums.LARGE and x.dtype.char in "fdFD":
        return add_reduce(x, None, None, empty(x, ()))  # an array at once, not a scalar
    return add_up(x, None)


_sum = declare(
    "sum(input)",
    _sum_all,
    input=lambda xp, g, input_shape: xp.spread(g, shape=input_shape),
    adds="input",
    rows=True,
    exact=True,
    batch=batching.full_reduction("sum_dim"),
    examples=ALL,
)


_sum_dim = declare(
    "sum_dim(input, *, dim, keepdim)",
    add_up,
    input=lambda xp, g, dim, keepdim, input_shape: xp.unreduce(
        g, dim=dim, keepdim=keepdim, shape=input_shape
    ),
    adds="input",
    rows=True,
    examples=DIMS,
    node_name="SumBackward1",
)


@quick("average")
def average(x: Any, dim: Any, keepdim: bool = False) -> Any:
    """Means over `dim`; raises for integers, accumulates half floats in float32."""
    if x.dtype.char not in "fdFD":
        if x.dtype.kind in "biu":
            raise RuntimeError(
                "mean(): could not infer output dtype. Input dtype must be either a floating point "
                f"or complex dtype. Got: {dtypes.legacy_name(x.dtype)}. Convert first: "
                "x.float().mean()"
            )
        return average(dtypes.converted(x, dtypes.float32.numpy), dim, keepdim).astype(x.dtype)
    n = x.size if dim is None else count(x.shape, dim)
    return np.true_divide(sums.total(x, dim, keepdim), n)


def shares(spread: Any, g: Any, n: int, *, shape: Any, **params: Any) -> Any:
    """`g / n` for all elements: in row-major order, also where no sum's gradient has an order."""
    if shape.__class__ is Turned:
        return spread(g, shape=shape, **params) / n
    return spread(g / n, shape=shape, **params)


_mean = declare(
    "mean(input)",
    lambda input: average(input, None),
    input=lambda xp, g, input_shape: shares(
        xp.spread, g, math.prod(input_shape) or 1, shape=input_shape
    ),
    linear="input",
    rows=True,
    batch=batching.full_reduction("mean_dim"),
    examples=ALL[:2],
    saved={"self_sym_numel": lambda input_shape: math.prod(input_shape)},
)

_mean_dim = declare(
    "mean_dim(input, *, dim, keepdim)",
    lambda input, *, dim, keepdim: average(input, dim, keepdim),
    input=lambda xp, g, dim, keepdim, input_shape: shares(
        xp.unreduce,
        g,
        count(input_shape, dim) or 1,
        dim=dim,
        keepdim=keepdim,
        shape=input_shape,
    ),
    linear="input",
    rows=True,
    examples=[e for e in DIMS if "3x0" not in e.specs],
    node_name="MeanBackward1",
    saved={"self_sym_numel": lambda input_shape: math.prod(input_shape)},
)


def _nansum_dim(input: Any, *, dim: Any, keepdim: bool) -> Any:
    if input.dtype.kind in "biu":
        return add_up(input, dim, keepdim)
    return add_up(np.where(np.isnan(input), input.dtype.type(0), input), dim, keepdim)


def _nansum_input(xp: Any, g: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    g = xp.unreduce(g, dim=dim, keepdim=keepdim, shape=None)
    return xp.laid_out(xp.zero_where(g, xp.isnan(input)), g, input)


_nansum_dim_op = declare(
    "nansum(input, *, dim, keepdim)",
    _nansum_dim,
    input=_nansum_input,
    examples=DIMS,
)


@public(out="dtype", methods="sum")
def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Sum of all elements, or over the dimensions `dim` (an int or a tuple of them).

    Reduced dimensions are dropped, or stay with size 1 if `keepdim`. Booleans and integers are
    summed as int64; `dtype` converts first. The sum of no elements is 0. Raises IndexError for a
    dim out of range, RuntimeError for one given twice. NumPy's names `axis` and `keepdims` are
    understood too, here and in other functions along dimensions.

    >>> x = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> rg.sum(x), rg.sum(x, 0), rg.sum(x, dim=(0, 1), keepdim=True)
    (tensor(10.), tensor([4., 6.]), tensor([[10.]]))
    """
    if dtype is not None:
        input = converted(input, dtype)
    if dim is None and not keepdim:
        total = _sum(input)
    else:
        total = _sum_dim(input, dim=wrap_dims(input, dim), keepdim=keepdim)
    return total if dtype is None else converted(total, dtype)


@public(out="wider", methods="mean")
def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Mean of all elements, or over the dimensions `dim`; like `sum`.

    Real floating and complex tensors only: RuntimeError for integers unless `dtype` converts them.
    The mean of no elements is NaN.

    >>> x = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> rg.mean(x), rg.mean(x, 1)
    (tensor(2.5000), tensor([1.5000, 3.5000]))
    """
    if dtype is not None:
        input = converted(input, dtype)
    if dim is None and not keepdim:
        return _mean(input)
    return _mean_dim(input, dim=wrap_dims(input, dim), keepdim=keepdim)


@public(out="dtype", methods="nansum")
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """`sum` with NaN counted as 0, and derivative 0 there. Complex too, where PyTorch's is not.

    >>> rg.nansum(rg.tensor([1.0, float("nan")]))
    tensor(1.)
    """
    total = _nansum_dim_op(converted(input, dtype), dim=wrap_dims(input, dim), keepdim=keepdim)
    return converted(total, dtype)


@public(out="wider", methods="nanmean")
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """`mean` over the elements that are not NaN; NaN where there is none.

    Raises RuntimeError for integers.

    >>> rg.nanmean(rg.tensor([1.0, float("nan"), 3.0]))
    tensor(2.)
    """
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{dtypes.legacy_name(input.dtype)}. Convert first: x.float().nanmean()"
        )
    present = recorded.eq(input, input)
    total = nansum(input, dim, keepdim, dtype=dtype)
    return recorded.div(total, sum(present, dim, keepdim))


# -- products ------------------------------------------------------------------------------------


def multiply_up(x: Any, dim: Any, keepdim: bool = False) -> Any:
    """Products over `dim`: integers as int64, half floats accumulated in float32."""
    if x.dtype.char in "fdFD":
        return sums.reduced(np.multiply, x, dim, None, keepdim)
    if x.dtype.kind in "biu":
        return sums.reduced(np.multiply, x, dim, np.int64, keepdim)
    return sums.reduced(np.multiply, x, dim, np.float32, keepdim).astype(x.dtype)


def others(xp: Any, input: Any, dim: int | None) -> Any:
    """For each element, the product of all others along `dim`: division-free, so zeros are fine."""
    before = xp.cumprod_before(input, dim=dim, reverse=False)
    return before * xp.cumprod_before(input, dim=dim, reverse=True)


_prod = declare(
    "prod(input)",
    lambda input: multiply_up(input, None),
    input=lambda xp, g, input: g * xp.conj(xp.laid_out(others(xp, input, None), input)),
    batch=batching.full_reduction("prod_dim", flat=True),
    examples=ALL,
)


def _prod_dim_input(xp: Any, g: Any, input: Any, out: Any, dim: Any, keepdim: bool) -> Any:
    g, out = [xp.unreduce(x, dim=dim, keepdim=keepdim, shape=None) for x in (g, out)]
    share = xp.laid_out(others(xp, input, dim[0] if dim else None), out, input)
    return xp.mul(g, xp.conj(share))


_prod_dim = declare(
    "prod_dim(input, *, dim, keepdim)",
    lambda input, *, dim, keepdim: multiply_up(input, dim, keepdim),
    input=_prod_dim_input,
    examples=[e for e in DIMS if len(e.params["dim"]) < 2],
    node_name="ProdBackward1",
    saved={"dim": as_number},
)


@public(out="dtype", methods="prod")
def prod(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """Product of all elements, or along one dimension `dim`.

    Booleans and integers are multiplied as int64; `dtype` converts first. The product of no
    elements is 1. Derivatives hold to every order however many factors are zero: the share of a
    factor is the product of the others, never `out / input`.

    >>> x = rg.tensor([0.0, 2.0, 3.0], requires_grad=True)
    >>> rg.prod(x).backward(); x.grad
    tensor([6., 0., 0.])
    """
    check_kept("prod", dim, keepdim)
    if dim is None:
        return converted(_prod(converted(input, dtype)), dtype)
    wrap_dim(input, dim)
    total = _prod_dim(converted(input, dtype), dim=wrap_dims(input, dim), keepdim=keepdim)
    return converted(total, dtype)


# -- counts and truth ----------------------------------------------------------------------------


def truth(ufunc: Any) -> Any:
    """The forward of `any` or `all`; PyTorch keeps uint8, every other dtype gives booleans."""

    def forward(input: Any, *, dim: Any, keepdim: bool) -> Any:
        found = sums.reduced(ufunc, input, dim, np.bool_, keepdim)
        return found.astype(np.uint8) if input.dtype == np.uint8 else found

    return forward


_any = declare("any(input, *, dim, keepdim)", truth(np.logical_or), examples=DIMS)
_all = declare("all(input, *, dim, keepdim)", truth(np.logical_and), examples=DIMS)


def _count_nonzeros(input: Any, *, dim: Any) -> Any:
    if not input.ndim:
        return (input != 0).astype(np.int64)
    return sums.reduced(np.add, dtypes.converted(input, dtypes.boolean.numpy), dim, np.int64)


_count_nonzero = declare(
    "count_nonzero(input, *, dim)",
    _count_nonzeros,
    examples=[example("3x4", dim=(0,)), example("", dim=())],
)


@public(out="truth", methods="any")
def any(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether any element is nonzero (NaN is), in all or along the dimensions `dim`.

    Booleans, for uint8 input uint8; False for no elements.

    >>> rg.any(rg.tensor([[0, 1], [0, 0]]), dim=1)
    tensor([ True, False])
    """
    return _any(input, dim=_truth_dims(input, dim), keepdim=keepdim)


@public(out="truth", methods="all")
def all(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether every element is nonzero, in all or along the dimensions `dim`; like `any`.

    True for no elements.

    >>> rg.all(rg.tensor([[0, 1], [2, 3]]), dim=1)
    tensor([False,  True])
    """
    return _all(input, dim=_truth_dims(input, dim), keepdim=keepdim)


def _truth_dims(input: Tensor, dim: Any) -> tuple[int, ...]:
    """As `wrap_dims`, but an empty tuple reduces nothing, as in PyTorch's `any` and `all`."""
    return () if isinstance(dim, (tuple, list)) and not dim else wrap_dims(input, dim)


@public(methods="count_nonzero")
def count_nonzero(input: Tensor, dim: Any = None, *more: int) -> Tensor:
    """The number of nonzero elements, in all or along the dimensions `dim`, as int64.

    >>> rg.count_nonzero(rg.tensor([[0, 1], [2, 3]]), dim=0)
    tensor([1, 2])
    """
    return _count_nonzero(input, dim=wrap_dims(input, (dim, *more) if more else dim))
