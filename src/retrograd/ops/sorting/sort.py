"""Sorting, the k largest, the k-th smallest, distinct values, and where elements are nonzero.

Sorting is always stable, and NaN counts as the largest value. What gives integers never requires
grad; a derivative of `unique` is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...engine.registry import declare, example, renamed
from ...engine.tensor import Tensor, new_tensor
from ...kernels.allocation import full, table
from ...kernels.layout import as_it_lies
from ...kernels.native import order
from ...kernels.native.small import quick
from ...kernels.search import comparable, kth, ranked
from ..core import batching, return_types
from ..core.arguments import public, write_value
from ..core.dims import as_number, rank, wrap_dim
from ..core.pointwise import refusing
from ..indexing.take_along import taken_along
from ..reduction.extrema import check_elements, choice, chosen_input, ordered

__all__ = [
    "argsort", "argwhere", "kthvalue", "msort", "nonzero", "sort", "topk", "unique",
    "unique_consecutive",
]  # fmt: skip

# -- sorting -------------------------------------------------------------------------------------


def turning(function: Any) -> Any:
    """A forward along `dim` whose results lie in memory as its input does."""

    def forward(input: Any, *, dim: int, descending: bool) -> Any:
        if input.__class__ is not np.ndarray or input.flags.c_contiguous:
            return function(input, dim=dim, descending=descending)
        return as_it_lies(function, input, dim=dim, descending=descending)

    return forward


@turning
def _argsort(input: Any, *, dim: int, descending: bool) -> Any:
    values = np.atleast_1d(ordered(input, "sort"))
    return ranked(values, dim, descending).reshape(input.shape)


@quick("sort")
@turning
def _sort(input: Any, *, dim: int, descending: bool) -> Any:
    places = _argsort(input, dim=dim, descending=descending)
    if input.ndim == 0:
        return input.copy(), places
    return taken_along(input, places, dim=dim), places


@quick("topk")
def _topk(input: Any, *, k: int, dim: int, largest: bool, sorted: bool) -> Any:
    values = np.atleast_1d(ordered(input, "topk"))
    n = values.shape[dim]
    if 0 < k < n:  # only the k best need sorting
        best = order.first(comparable(values), dim, k, largest)
        if best is None:
            parted = np.argpartition(comparable(values), n - k if largest else k - 1, dim)
            part = slice(n - k, n) if largest else slice(k)
            best = np.sort(parted[(*[slice(None)] * dim, part)], dim)
    else:
        places = table(values, np.arange(k).reshape([-1] + [1] * (values.ndim - 1 - dim)))
        best = np.broadcast_to(places, (*values.shape[:dim], k, *values.shape[dim + 1 :]))
    if sorted:
        places = ranked(taken_along(values, best, dim=dim), dim, largest)
        best = taken_along(best, places, dim=dim)
    shape = best.shape if input.ndim else ()
    return taken_along(values, best, dim=dim).reshape(shape), best.reshape(shape)


def placed_input(xp: Any, g: Any, indices: Any, dim: int, input_shape: tuple[int, ...]) -> Any:
    """The formula of a selection along `dim` in which no index repeats."""
    return xp.place_along(g, indices, dim=dim, shape=input_shape)


_sort_op = declare(
    "sort(input, *, dim, descending) -> values, indices",
    _sort,
    input=placed_input,
    nondiff=["indices"],
    complex=False,
    examples=[
        example("3x4", dim=1, descending=False),
        example("3x4", dim=0, descending=True),
        example("", dim=0, descending=False),
        example("2x0", dim=1, descending=True),
    ],
)

_sort_as_asked = renamed(_sort_op, "SortBackward1")  # the overload with `stable`

_argsort_op = declare(
    "argsort(input, *, dim, descending)",
    _argsort,
    complex=False,
    examples=[example("3x4", dim=1, descending=False), example("", dim=0, descending=True)],
)

_topk_op = declare(
    "topk(input, *, k, dim, largest, sorted) -> values, indices",
    _topk,
    input=placed_input,
    nondiff=["indices"],
    complex=False,
    examples=[
        example("3x4", k=2, dim=1, largest=True, sorted=True),
        example("3x4", k=3, dim=0, largest=False, sorted=True),
        example("4", k=2, dim=0, largest=True, sorted=False),
        example("", k=1, dim=0, largest=True, sorted=True),
    ],
)

_kthvalue_op = declare(
    "kthvalue(input, *, k, dim, keepdim) -> values, indices",
    choice(kth, "kthvalue"),
    input=chosen_input,
    nondiff=["indices"],
    complex=False,
    examples=[
        example("3x4", k=2, dim=(1,), keepdim=False),
        example("3x4", k=3, dim=(0,), keepdim=True),
        example("", k=1, dim=(), keepdim=False),
    ],
    saved={"dim": as_number},
)


@public(out=True, methods="sort")
def sort(
    input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None
) -> Any:
    """The elements in order along `dim`, and where each was: a pair (values, indices).

    Always stable, whatever `stable` says; NaN counts as largest. Raises RuntimeError for complex
    input.

    >>> rg.sort(rg.tensor([3.0, 1.0, 2.0]), descending=True)
    retrograd.return_types.sort(
    values=tensor([3., 2., 1.]),
    indices=tensor([0, 2, 1]))
    """
    call = _sort_op if stable is None else _sort_as_asked
    return return_types.sort(*call(input, dim=wrap_dim(input, dim), descending=descending))


@public(out=True, methods="argsort")
def argsort(
    input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> Tensor:
    """The indices of `sort`.

    >>> rg.argsort(rg.tensor([3.0, 1.0, 2.0]))
    tensor([1, 2, 0])
    """
    return _argsort_op(input, dim=wrap_dim(input, dim), descending=descending)


@public(out=True, methods="msort")
def msort(input: Tensor) -> Tensor:
    """The values of `sort` along the first dimension.

    >>> rg.msort(rg.tensor([3.0, 1.0, 2.0]))
    tensor([1., 2., 3.])
    """
    return sort(input, 0).values  # type: ignore[no-any-return]


@public(out=True, methods="topk")
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The `k` largest (or smallest) elements along `dim`: a pair (values, indices).

    In order if `sorted`. A tensor without dimensions is its own element, whatever `k` is. Raises
    RuntimeError for `k` out of range or complex input.

    >>> rg.topk(rg.tensor([3.0, 1.0, 2.0]), 2).values
    tensor([3., 2.])
    """
    at = wrap_dim(input, dim)
    if not 0 <= k <= (input.shape[at] if input.ndim else 1):
        raise RuntimeError(
            f"selected index k out of range: k is {k}, and dimension {at} of the shape "
            f"{list(input.shape)} has fewer elements"
        )
    k = k if input.ndim else 1  # the only element, as in PyTorch
    return return_types.topk(*_topk_op(input, k=k, dim=at, largest=largest, sorted=sorted))


@public(out=True, methods="kthvalue")
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The `k`-th smallest element along `dim`, counted from 1: a pair (values, indices).

    Raises RuntimeError for `k` out of range or complex input.

    >>> rg.kthvalue(rg.tensor([3.0, 1.0, 2.0]), 2).values
    tensor(2.)
    """
    at = wrap_dim(input, dim)
    dims = (at,) if input.ndim else ()
    check_elements(input, dims, "kthvalue")
    if not 1 <= k <= (input.shape[at] if dims else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {at}")
    return return_types.kthvalue(*_kthvalue_op(input, k=k, dim=dims, keepdim=keepdim))


# -- where elements are nonzero, and which differ ------------------------------------------------


@public(methods="nonzero")
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Any:
    """The indices of the nonzero elements, in C order: int64 (count, ndim).

    With `as_tuple`, one index tensor per dimension, fit for indexing. Raises RuntimeError for an
    `out` of another dtype, or beside `as_tuple`.

    >>> rg.nonzero(rg.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    rank(input)
    if as_tuple:
        if out is not None:
            raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
        return tuple([new_tensor(a) for a in np.argwhere(np.atleast_1d(input._array)).T])
    found = new_tensor(np.argwhere(input._array))
    if out is None:
        return found
    if out._array.dtype != np.int64:
        raise RuntimeError(
            "nonzero: Expected out tensor to have scalar type Long but got scalar type "
            f"{dtypes.legacy_name(out.dtype)}"
        )
    return write_value(found, out, "nonzero")


@public(methods="argwhere")
def argwhere(input: Tensor) -> Tensor:
    """`nonzero` under NumPy's name.

    >>> rg.argwhere(rg.tensor([0.0, 5.0]))
    tensor([[1]])
    """
    return nonzero(input)  # type: ignore[no-any-return]


def _slices_of(input: Tensor, dim: int, name: str) -> int:
    """The dim along which slices of `input` are compared, which hold elements if there are any."""
    if not input.ndim:
        raise IndexError(f"{name}(): Dimension specified as {dim} but tensor has no dimensions")
    place, sizes = wrap_dim(input, dim), list(input.shape)
    if sizes.count(0) > (sizes[place] == 0):
        raise RuntimeError(
            f"{name}(): There are 0 sized dimensions, and they aren't selected, so unique cannot "
            f"be applied: shape {sizes}, dim {place}"
        )
    return place


def _unique(input: Any, *, dim: int | None) -> Any:
    array = ordered(input, "unique")
    values, inverse, counts = np.unique(
        comparable(array), return_inverse=True, return_counts=True, axis=dim, equal_nan=False
    )
    inverse = inverse.reshape(array.shape if dim is None else -1)
    return values.astype(array.dtype, copy=False), inverse, counts


def _unique_consecutive(input: Any, *, dim: int | None) -> Any:
    axis, values = (0, input.reshape(-1)) if dim is None else (dim, input)
    rows = np.moveaxis(values, axis, 0)
    rows = rows.reshape(len(rows), values.size // max(len(rows), 1))
    new = full(rows, len(rows), True, np.bool_)
    new[1:] = (rows[1:] != rows[:-1]).any(1)
    starts = np.flatnonzero(new)
    inverse = (np.cumsum(new) - 1).reshape(input.shape if dim is None else -1)
    chosen = np.moveaxis(np.moveaxis(values, axis, 0).take(starts, 0), 0, axis)
    return chosen, inverse, np.diff(starts, append=len(rows))


def _distinct(name: str, forward: Any, **more: Any) -> Any:
    """The record of what chooses distinct elements, of equal ones any: there is no derivative."""
    why = (
        ": of equal elements, none is the one that was chosen. Give it values alone, "
        f"rg.{name}(x.detach()), or choose by an index"
    )
    return declare(
        f"{name}(input, *, dim) -> out, inverse, counts",
        forward,
        input=refusing(f"the derivative for '{name}'", why),
        nondiff=["inverse", "counts"],
        batch=batching.alone("the number of distinct elements"),
        examples=[example("3x2:int<1", dim=None), example("3x2:int<1", dim=0)],
        **more,
    )


_unique_op = _distinct("unique", _unique, node_name="Unique2Backward0")
_unique_slices = renamed(_unique_op, "UniqueDimBackward0")
_unique_consecutive_op = _distinct("unique_consecutive", _unique_consecutive)


def _asked(found: Any, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = found
    further = [t for t, asked in ((inverse, return_inverse), (counts, return_counts)) if asked]
    return (values, *further) if further else values


@public(methods="unique")
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements (or slices along `dim`), always sorted; every NaN is distinct.

    Also, on demand, where each element of the input went and how often each occurred (int64). A
    gradient that is asked for raises NotImplementedError: a set has no derivative. Raises
    RuntimeError for slices without elements, IndexError for a dim of a 0-d tensor.

    >>> rg.unique(rg.tensor([3, 1, 1]), return_counts=True)
    (tensor([1, 3]), tensor([2, 1]))
    """
    if dim is None:
        found = _unique_op(input, dim=None)
    else:
        found = _unique_slices(input, dim=_slices_of(input, dim, "unique"))
    return _asked(found, return_inverse, return_counts)


@public(methods="unique_consecutive")
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements (or slices along `dim`) that differ from the one before; results as `unique`.

    >>> rg.unique_consecutive(rg.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    axis = None if dim is None else _slices_of(input, dim, "unique_consecutive")
    return _asked(_unique_consecutive_op(input, dim=axis), return_inverse, return_counts)
