"""Sorting, the k largest, the k-th smallest, distinct values, bins, and where elements are nonzero.

Sorting is always stable, and NaN counts as the largest value. What gives integers, and `unique`,
`histc` and `bincount`, has no derivative: their results never require grad.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.dispatch import as_tensor
from ..engine.op import declare, example
from ..engine.tensor import Tensor, method, new_tensor
from . import returns
from .axes import rank, wrap_dim
from .extrema import check_elements, chosen, chosen_input, ordered
from .reduce import legacy

__all__ = [
    "argsort",
    "argwhere",
    "bincount",
    "bucketize",
    "histc",
    "kthvalue",
    "msort",
    "nonzero",
    "searchsorted",
    "sort",
    "topk",
    "unique",
    "unique_consecutive",
]

# -- sorting -------------------------------------------------------------------------------------


def ranked(x: Any, axis: int, descending: bool) -> Any:
    """The indices that sort `x`, equal elements in their order, NaN as the largest."""
    if not descending:
        return np.argsort(x, axis, kind="stable")
    backwards = np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    return x.shape[axis] - 1 - backwards


def _argsort(input: Any, *, dim: int, descending: bool) -> Any:
    lines = np.atleast_1d(ordered(input, "sort"))
    return ranked(lines, dim, descending).reshape(input.shape)


def _sort(input: Any, *, dim: int, descending: bool) -> Any:
    order = _argsort(input, dim=dim, descending=descending)
    if input.ndim == 0:
        return input.copy(), order
    return np.take_along_axis(input, order, dim), order


def _topk(input: Any, *, k: int, dim: int, largest: bool, sorted: bool) -> Any:
    lines = np.atleast_1d(ordered(input, "topk"))
    n = lines.shape[dim]
    if 0 < k < n:  # only the k best need sorting
        parted = np.argpartition(lines, n - k if largest else k - 1, dim)
        best = parted.take(np.arange(n - k, n) if largest else np.arange(k), dim)
        best.sort(dim)
    else:
        best = np.broadcast_to(
            np.arange(n).reshape([-1] + [1] * (lines.ndim - 1 - dim)), lines.shape
        )
        best = best.take(np.arange(k), dim)
    if sorted:
        order = ranked(np.take_along_axis(lines, best, dim), dim, largest)
        best = np.take_along_axis(best, order, dim)
    shape = best.shape if input.ndim or k == 0 else ()
    return np.take_along_axis(lines, best, dim).reshape(shape), best.reshape(shape)


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
    chosen(lambda x, axis, k: np.argsort(x, axis, kind="stable").take([k - 1], axis), "kthvalue"),
    input=chosen_input,
    nondiff=["indices"],
    complex=False,
    examples=[
        example("3x4", k=2, dim=(1,), keepdim=False),
        example("3x4", k=3, dim=(0,), keepdim=True),
        example("", k=1, dim=(), keepdim=False),
    ],
)


def sort(
    input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None
) -> Any:
    """The elements in order along `dim`, and where each was: a pair (values, indices).

    Always stable, whatever `stable` says; NaN counts as largest. Raises RuntimeError for complex
    input. Source: PyTorch's `sort`.

    >>> import retrograd as rg
    >>> rg.sort(rg.tensor([3.0, 1.0, 2.0]), descending=True)
    retrograd.return_types.sort(
    values=tensor([3., 2., 1.]),
    indices=tensor([0, 2, 1]))
    """
    return returns.sort(*_sort_op(input, dim=wrap_dim(input, dim), descending=descending))


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices of `sort`. Source: PyTorch's `argsort`.

    >>> import retrograd as rg
    >>> rg.argsort(rg.tensor([3.0, 1.0, 2.0]))
    tensor([1, 2, 0])
    """
    return _argsort_op(input, dim=wrap_dim(input, dim), descending=descending)  # type: ignore[no-any-return]


def msort(input: Tensor) -> Tensor:
    """The values of `sort` along the first dimension. Source: PyTorch's `msort`.

    >>> import retrograd as rg
    >>> rg.msort(rg.tensor([3.0, 1.0, 2.0]))
    tensor([1., 2., 3.])
    """
    return sort(input, 0).values  # type: ignore[no-any-return]


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The `k` largest (or smallest) elements along `dim`: a pair (values, indices).

    In order if `sorted`. Raises RuntimeError for `k` out of range or complex input. Source:
    PyTorch's `topk`.

    >>> import retrograd as rg
    >>> rg.topk(rg.tensor([3.0, 1.0, 2.0]), 2).values
    tensor([3., 2.])
    """
    at = wrap_dim(input, dim)
    if not 0 <= k <= (input.shape[at] if input.ndim else 1):
        raise RuntimeError(
            f"selected index k out of range: k is {k}, and dimension {at} of the shape "
            f"{list(input.shape)} has fewer elements"
        )
    return returns.topk(*_topk_op(input, k=k, dim=at, largest=largest, sorted=sorted))


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The `k`-th smallest element along `dim`, counted from 1: a pair (values, indices).

    Raises RuntimeError for `k` out of range or complex input. Source: PyTorch's `kthvalue`.

    >>> import retrograd as rg
    >>> rg.kthvalue(rg.tensor([3.0, 1.0, 2.0]), 2).values
    tensor(2.)
    """
    at = wrap_dim(input, dim)
    dims = (at,) if input.ndim else ()
    check_elements(input, dims, "kthvalue")
    if not 1 <= k <= (input.shape[at] if dims else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {at}")
    return returns.kthvalue(*_kthvalue_op(input, k=k, dim=dims, keepdim=keepdim))


# -- where elements are nonzero, and which differ ------------------------------------------------


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the nonzero elements, in C order: int64 (count, ndim).

    With `as_tuple`, one index tensor per dimension, fit for indexing. Source: PyTorch's `nonzero`.

    >>> import retrograd as rg
    >>> rg.nonzero(rg.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    rank(input)
    if as_tuple:
        return tuple([new_tensor(a) for a in np.nonzero(np.atleast_1d(input.array))])
    return new_tensor(np.argwhere(input.array))


def argwhere(input: Tensor) -> Tensor:
    """`nonzero` under NumPy's name.

    >>> import retrograd as rg
    >>> rg.argwhere(rg.tensor([0.0, 5.0]))
    tensor([[1]])
    """
    return nonzero(input)  # type: ignore[no-any-return]


def _results(values: Any, inverse: Any, counts: Any) -> Any:
    found = [new_tensor(a) for a in (values, inverse, counts) if a is not None]
    return found[0] if len(found) == 1 else tuple(found)


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements (or slices along `dim`), always sorted; every NaN is distinct.

    Also, on demand, where each element of the input went and how often each occurred (int64). The
    results do not require grad: a set has no derivative. Source: PyTorch's `unique`.

    >>> import retrograd as rg
    >>> rg.unique(rg.tensor([3, 1, 1]), return_counts=True)
    (tensor([1, 3]), tensor([2, 1]))
    """
    array = ordered(input.array, "unique")
    axis = None if dim is None else wrap_dim(input, dim)
    values, inverse, counts = np.unique(
        array, return_inverse=True, return_counts=True, axis=axis, equal_nan=False
    )
    inverse = inverse.reshape(array.shape if axis is None else -1)
    return _results(values, inverse if return_inverse else None, counts if return_counts else None)


def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The elements (or slices along `dim`) that differ from the one before; results as `unique`.

    Source: PyTorch's `unique_consecutive`.

    >>> import retrograd as rg
    >>> rg.unique_consecutive(rg.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    array = input.array
    axis = 0 if dim is None else wrap_dim(input, dim)
    lines = array.reshape(-1) if dim is None else np.atleast_1d(array)
    rows = np.moveaxis(lines, axis, 0)
    rows = rows.reshape(len(rows), lines.size // max(len(rows), 1))
    new = np.ones(len(rows), bool)
    new[1:] = (rows[1:] != rows[:-1]).any(1)
    starts = np.flatnonzero(new)
    inverse = np.cumsum(new) - 1
    return _results(
        lines.take(starts, axis),
        inverse.reshape(array.shape if dim is None else -1) if return_inverse else None,
        np.diff(starts, append=len(rows)) if return_counts else None,
    )


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A new last dimension with 1 at the class that each element names and 0 elsewhere; int64.

    `num_classes` -1 takes the largest class plus one. Raises RuntimeError for what is not int64,
    for negative classes, and for classes beyond `num_classes`. Source: PyTorch's
    `nn.functional.one_hot`.
    """
    classes = tensor.array
    if classes.dtype != np.int64:
        raise RuntimeError(
            "one_hot is only applicable to index tensor of type LongTensor. Convert it: x.long()"
        )
    if classes.size == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if classes.size and classes.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(classes.max()) + 1
    elif classes.size and classes.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return new_tensor((classes[..., None] == np.arange(num_classes)).astype(np.int64))


# -- bins ----------------------------------------------------------------------------------------


def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where the values `input` would go in a sequence sorted along its last dimension.

    The sequence is 1-D, or its leading dimensions are those of `input`, row by row. Of equal
    elements the place before is given, or with `right` the place after. `sorter` sorts the sequence
    first. int64 or int32. Raises RuntimeError where the shapes do not match. Source: PyTorch's
    `searchsorted`.

    >>> import retrograd as rg
    >>> rg.searchsorted(rg.tensor([1, 3, 5]), rg.tensor([3, 6]))
    tensor([1, 3])
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"side can only be 'left' or 'right' but got {side}")
    if right and side == "left":
        raise RuntimeError(
            "searchsorted(): side and right can't be set to opposites, got side of left while "
            "right was True"
        )
    sequence = sorted_sequence.array
    values = as_tensor(input, sequence.dtype).array
    if sorter is not None:
        sequence = np.take_along_axis(sequence, sorter.array, -1)
    if sequence.ndim != 1 and sequence.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions "
            "of boundaries tensor and input value tensor must match, but we got boundaries tensor "
            f"{list(sequence.shape)} and input value tensor {list(values.shape)}"
        )
    where: Any = "right" if right or side == "right" else "left"
    dtype = np.int32 if out_int32 else np.int64
    if sequence.ndim == 1:
        return new_tensor(np.asarray(np.searchsorted(sequence, values, where), dtype))
    found = np.empty(values.shape, dtype)
    for row in np.ndindex(sequence.shape[:-1]):
        found[row] = np.searchsorted(sequence[row], values[row], where)
    return new_tensor(found)


def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The number of the bin between sorted `boundaries` (1-D) in which each value lies.

    A value on a boundary belongs to the bin below, or with `right` above. Source: PyTorch's
    `bucketize`.

    >>> import retrograd as rg
    >>> rg.bucketize(rg.tensor([0.5, 2.0, 9.0]), rg.tensor([1.0, 2.0]))
    tensor([0, 1, 2])
    """
    if rank(boundaries) != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements lie in each of `bins` equal bins between `min` and `max`; floating.

    Where `min` and `max` are equal, the range of the elements is taken. Elements outside are left
    out. Raises RuntimeError for a bad range, NotImplementedError for integers. Source: PyTorch's
    `histc`.

    >>> import retrograd as rg
    >>> rg.histc(rg.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    array = ordered(input.array, "histc")
    if array.dtype.kind != "f":
        raise NotImplementedError(f"\"histc\" not implemented for '{legacy(array.dtype)}'")
    if bins <= 0:
        raise RuntimeError(f"histc(): bins must be > 0, but got {bins}")
    if min > max:
        raise RuntimeError("histc(): max must be larger than min")
    low, high = float(min), float(max)
    if low == high and array.size:
        low, high = float(array.min()), float(array.max())
    if not np.isfinite([low, high]).all():
        raise RuntimeError(f"histc(): range of [{low}, {high}] is not finite")
    if low == high:
        low, high = low - 1, high + 1
    flat = array.reshape(-1)
    counts, _ = np.histogram(flat[~np.isnan(flat)], bins, (low, high))
    return new_tensor(counts.astype(array.dtype))


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each non-negative integer occurs in a 1-D tensor, or the sum of its weights.

    int64 counts; sums in float64, or float32 for float32 weights. Raises RuntimeError for negative
    or non-integer input or another shape. Source: PyTorch's `bincount`.

    >>> import retrograd as rg
    >>> rg.bincount(rg.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    array = input.array
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array.size and array.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return new_tensor(np.bincount(array, minlength=minlength))
    if weights.array.shape != array.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    sums = np.bincount(array, weights.array, minlength)
    return new_tensor(sums.astype(np.float32 if weights.array.dtype == np.float32 else np.float64))


for function in (
    sort,
    argsort,
    msort,
    topk,
    kthvalue,
    nonzero,
    argwhere,
    unique,
    unique_consecutive,
    histc,
    bincount,
):
    method(function)
