"""Gathering and scattering: reading and writing at indices along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...engine.dispatch import as_non_view
from ...engine.namespaces import recorded
from ...engine.registry import declare, example, name_node, renamed
from ...engine.tensor import Tensor, concrete, constant_like, has_history, new_tensor
from ...errors import wrong_type
from ...kernels.allocation import (
    check_together,
    copied,
    empty,
    has_memory,
    has_values,
    is_seen,
    known_true,
    table,
)
from ..core import batching_index
from ..core.arguments import number_in, public
from ..core.dims import broadcast_shapes, normalize_dim
from ..creation.from_data import NUMBERS, fill_value
from ..elementwise.arithmetic import check_alpha
from ..shape.basic_views import basic
from ..shape.join import stack
from .assign import region_shape
from .index import added_at, check_range, check_vector, index_put_op, laid_out
from .keys import check_bounds
from .take_along import added_along, check_bounded, mesh, store, take_along

__all__ = [
    "gather", "index_add", "index_copy", "index_fill", "put", "scatter", "scatter_add",
    "take_along_dim",
]  # fmt: skip


# -- along one dimension -----------------------------------------------------------------------


def _scatter(input: Any, src: Any, index: Any, *, dim: int) -> Any:
    out = copied(input) if input.flags.c_contiguous else input.copy()
    store(out, index, src, dim)
    return out


def _scatter_multiply(input: Any, src: Any, index: Any, *, dim: int) -> Any:
    out = copied(input)
    target, places = np.atleast_1d(out), np.atleast_1d(index)
    grid = [table(places, numbers) for numbers in mesh(places.shape)]
    grid[dim] = places
    np.multiply.at(target, tuple(grid), np.broadcast_to(src, index.shape).reshape(places.shape))
    return out


# `src` has the index's shape, or is 0-d.
_scatter_op = declare(
    "scatter(input, src, index, *, dim)",
    _scatter,
    input=lambda xp, g, index, dim: xp.scatter_blank(g, index, dim=dim),
    src=lambda xp, g, index, dim: xp.take_along(g, index, dim=dim),
    linear="input, src",
    batch=batching_index.valued("scatter"),
    examples=[
        example("3x4, 1x4, 1x4:int<3", dim=0),
        example("3x4, , 3x1:int<4", dim=1),
        example("3, 0, 0:int<3", dim=0),
        example(", , :int<1", dim=0),
    ],
    doc="""A copy with `src` stored at the indices along `dim`.""",
)
_scatter_number = renamed(_scatter_op, "ScatterBackward1", lambda node: (0,))

scatter_blank = declare(
    "scatter_blank(input, index, *, dim)",
    lambda input, index, *, dim: _scatter(input, 0, index, dim=dim),
    input=lambda xp, g, index, dim: xp.scatter_blank(g, index, dim=dim),
    linear="input",
    examples=[example("3x4, 2x4:int<3", dim=0), example("3, 2:int<3", dim=0)],
    node_name="ScatterBackward0",
    doc="""A copy with zeros at the indices along `dim`.""",
)

_scatter_add_op = declare(
    "scatter_add(input, src, index, *, dim)",
    lambda input, src, index, *, dim: added_along(input, src, index, dim, input.shape),
    input=lambda xp, g: g,
    src=lambda xp, g, index, dim: xp.take_along(g, index, dim=dim),
    adds="input, src",
    examples=[
        example("3x4, 2x4, 2x4:int<3", dim=0),
        example("3x4, 2x6, 2x6:int<4", dim=1),
        example("3, 0, 0:int<3", dim=0),
    ],
    doc="""A copy with `src` added at the indices along `dim`.""",
)

_scatter_multiply_op = declare(
    "scatter_multiply(input, src, index, *, dim)",
    _scatter_multiply,
    batch=batching_index.valued("scatter_multiply"),
    examples=[example("3x4, 2x4, 2x4:int<3", dim=0), example("3, , 4:int<3", dim=0)],
    doc="""A copy with `src` multiplied in at the indices along `dim`; has no derivative.""",
)


def check_along(input: Tensor, index: Any, dim: int, name: str, src: Tensor | None = None) -> int:
    """Check the index of `gather` or `scatter`; return `dim` counted from the front."""
    if not isinstance(index, Tensor):
        raise wrong_type(name, "index", "Tensor", index)
    shape, found = input._array.shape or (1,), index._array.shape or (1,)
    place = normalize_dim(dim, input._array.ndim)
    kind = index._array.dtype
    if (kind.kind != "i" or kind.itemsize < 4) and index._array.size:
        raise RuntimeError(
            f"{name}(): Expected dtype int32/int64 for index, got {index.dtype}. Convert first: "
            "index.long()"
        )
    if index._array.size == 0:
        return place
    if len(shape) != len(found):
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as input tensor: got "
            f"{list(found)} and {list(shape)}"
        )
    beyond = [d for d, (n, m) in enumerate(zip(found, shape, strict=True)) if n > m and d != place]
    if beyond and src is None:
        raise RuntimeError(
            f"Size does not match at dimension {beyond[0]} expected index {list(found)} to be no "
            f"larger than self {list(shape)} apart from dimension {place}"
        )
    if src is not None and len(src._array.shape or (1,)) != len(found):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if src is not None and (
        beyond or any(n > m for n, m in zip(found, src._array.shape or (1,), strict=True))
    ):
        raise RuntimeError(
            f"Expected index {list(found)} to be no larger than self {list(shape)} apart from "
            f"dimension {place} and to be no larger size than src {list(src.shape)}"
        )
    values = concrete(index._array)
    if is_seen(values):
        check_bounded(values, shape[place], place)
    return place


@public(out=True, methods="gather")
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """`out[i][j] = input[index[i][j]][j]` for `dim` 0, and likewise for other dimensions.

    The result has the shape of `index`, an int64 tensor with the input's number of dimensions and
    no larger than it except along `dim`. Raises RuntimeError otherwise.

    >>> rg.gather(rg.tensor([[1, 2], [3, 4]]), 1, rg.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    place = check_along(input, index, dim, "gather")
    if index._array.size == 0:  # of any number of dimensions
        nothing = basic(input.reshape(-1), index=(slice(0),))
        return name_node(nothing.reshape(index._array.shape).clone(), "GatherBackward0")
    return take_along(input, index, dim=place)


def from_front(indices: Tensor, size: int) -> Tensor:
    """Indices counted from the front; those that are out of bounds stay as they are."""
    array = indices._array
    if not has_memory(array) or known_true(~(array < 0).any()):
        return indices
    return new_tensor(np.where((array < 0) & (array >= -size), array + size, array))


@public(out=True, methods="take_along_dim")
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`gather` with `input` and `indices` broadcast to each other; flattened where `dim` is None.

    Negative indices count from the end, unless flattened. Raises RuntimeError for different numbers
    of dimensions and for indices that are not int64.

    >>> rg.take_along_dim(rg.tensor([[1, 2], [3, 4]]), rg.tensor([[1]]), 1)
    tensor([[2],
            [4]])
    """
    if indices._array.dtype != np.int64:
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got "
            f"{dtypes.legacy_name(indices.dtype)}. Convert first: indices.long()"
        )
    check_together(input._array, indices._array)
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    if input._array.ndim != indices._array.ndim:
        raise RuntimeError(
            "take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {input._array.ndim} dimensions for input, and {indices._array.ndim} "
            "dimensions for indices"
        )
    place = normalize_dim(dim, input._array.ndim)
    indices = from_front(indices, input._array.shape[place])
    lengths = input._array.shape[place], indices._array.shape[place]
    common = list(broadcast_shapes(
        *[(*x._array.shape[:place], 1, *x._array.shape[place + 1 :]) for x in (input, indices)]
    ))  # fmt: skip
    shapes = [(*common[:place], n, *common[place + 1 :]) for n in lengths]
    return gather(input.expand(shapes[0]), place, indices.expand(shapes[1]))


@public(out=True, methods="scatter scatter_")
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
) -> Tensor:
    """A copy with `out[index[i][j]][j] = src[i][j]` for `dim` 0, and likewise for others.

    `src` is a tensor no smaller than `index`, or a number. With `reduce` "add" it is added; with
    "multiply" multiplied in. Which of several values for one place is
    stored is not defined. Raises RuntimeError for shapes and indices that do not fit.

    >>> rg.scatter(rg.zeros(2, 2), 1, rg.tensor([[1], [0]]), 5.0)
    tensor([[0., 5.],
            [5., 0.]])
    """
    source = value if src is None else src
    given = isinstance(source, Tensor)
    place = check_along(input, index, dim, "scatter", source if given else None)
    index = of_dims(index, input._array.ndim)
    if not given:
        source = zero_dim(input, source, "scatter")
        source = source if has_values(input._array) else constant_like(source._array, input)
    source = cut(input, source, index, "scatter", given)
    if reduce == "add":
        source = source if given else source.expand(index.shape)
        return _scatter_add_op(input, source, index, dim=place)
    if reduce == "multiply":
        if has_history(input) or has_history(source):
            return input.scatter_reduce(place, index, source.expand(index.shape), "prod")
        return _scatter_multiply_op(input, source, index, dim=place)
    if reduce is not None:
        raise RuntimeError(f"reduce argument must be either add or multiply, not {reduce}")
    op = _scatter_op if given else _scatter_number
    return op(input, source, index, dim=place)


def of_dims(index: Tensor, ndim: int) -> Tensor:
    """The index of `scatter` itself; an empty one may have other dimensions than the input."""
    if index._array.size or index._array.ndim == ndim:
        return index
    return index.reshape((0,) * max(ndim, 1))


def cut(input: Tensor, src: Tensor, index: Tensor, name: str, given: bool) -> Tensor:
    """The part of `src` that belongs to `index`, with the dtype checked."""
    if src._array.dtype != input._array.dtype:
        raise RuntimeError(
            f"{name}(): Expected self.dtype to be equal to src.dtype, got {input.dtype} and "
            f"{src.dtype}"
        )
    sizes = index._array.shape
    if not given or src._array.shape == sizes:
        return src
    if len(sizes) != src._array.ndim:  # an empty index, or one entry for a 0-d source
        return src.reshape(-1)[: index._array.size].reshape(sizes)
    return basic(src, index=tuple([slice(n) for n in sizes]))


@public(out=True, methods="scatter_add scatter_add_")
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with `out[index[i][j]][j] += src[i][j]` for `dim` 0, and likewise for others.

    Raises RuntimeError for shapes, dtypes and indices that do not fit.

    >>> rg.scatter_add(rg.zeros(2), 0, rg.tensor([0, 0]), rg.tensor([1.0, 2.0]))
    tensor([3., 0.])
    """
    place = check_along(input, index, dim, "scatter_add", src)
    index = of_dims(index, input._array.ndim)
    return _scatter_add_op(input, cut(input, src, index, "scatter", True), index, dim=place)


# -- whole entries of one dimension ------------------------------------------------------------


def _index_add(input: Any, source: Any, index: Any, *, dim: int) -> Any:
    found = added_at(input, source, index, (dim,), input.shape)
    return laid_out(found, empty(input, input.shape))


_index_add_op = declare(
    "index_add(input, source, index, *, dim)",
    _index_add,
    input=lambda xp, g: g,
    source=lambda xp, g, index, dim: xp.index(g, index, dims=(dim,)),
    linear="input, source",
    batch=batching_index.index_add,
    examples=[example("3x2, 4x2, 4:int<3", dim=0), example("2x3, 2x2, 2:int<3", dim=1)],
    doc="""A copy with the entries of `source` added at the indices of one dimension.""",
)


def entries(
    input: Tensor, dim: int, index: Any, source: Tensor | None, name: str
) -> tuple[int, Tensor]:
    """The dimension and index of an `index_...` function, checked."""
    place = normalize_dim(dim, input._array.ndim)
    check_vector(index, name)
    vector = index if index._array.ndim else index.reshape(1)
    check_together(input._array, vector._array)
    if name != "index_fill":
        check_source(input, place, vector, source, name)
    check_range(vector, place, input._array.shape, name)
    return place, vector


def check_source(input: Tensor, place: int, vector: Tensor, source: Any, name: str) -> None:
    """Raise unless `source` has the dtype of `input` and an entry for each index."""
    if not isinstance(source, Tensor):
        raise wrong_type(name, "source", "Tensor", source, 4)
    if source._array.ndim != input._array.ndim and name == "index_copy":
        raise IndexError(
            f"{name}(): the dimensions of source, {list(source.shape)}, must be as many as those "
            f"of self, {list(input.shape)}"
        )
    if source._array.dtype != input._array.dtype:
        raise RuntimeError(
            f"{name}(): self and source expected to have the same dtype, but got (self) "
            f"{input.dtype} and (source) {source.dtype}"
        )
    if source._array.shape != region_shape(input._array.shape, vector, (place,)):
        fewer = source._array.ndim > place and source._array.shape[place] != vector._array.size
        raise (IndexError if fewer and name == "index_copy" else RuntimeError)(
            f"{name}(): Number of indices ({vector._array.size}) should be equal to "
            f"source.size(dim) and the other sizes to self's: self {list(input.shape)}, source "
            f"{list(source.shape)}, dim {place}"
        )


def as_vector(
    function: Any, input: Tensor, dim: int, index: Any, source: Any, *args: Any, **params: Any
) -> Tensor:
    """An `index_...` function of a 0-d tensor, which counts as having one entry."""
    name = function.__name__
    if isinstance(source, Tensor) and function is not index_fill:
        if source.ndim and name != "index_copy":
            raise RuntimeError(
                f"{name}(): source tensor shape must match self tensor shape, excluding the "
                f"specified dimension. Got self.shape = [] source.shape = {list(source.shape)}"
            )
        source = source.reshape(-1)
    return as_non_view(function(input.reshape(1), dim, index, source, *args, **params).reshape(()))


@public(out=True, methods="index_add index_add_")
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """A copy with `alpha * source` added to the entries `index` of dimension `dim`.

    `index` is a vector, `source` has one entry along `dim` for each.

    >>> rg.index_add(rg.zeros(3), 0, rg.tensor([0, 0]), rg.tensor([1.0, 2.0]))
    tensor([3., 0., 0.])
    """
    if not input._array.ndim:
        made = as_vector(index_add, input, dim, index, source, alpha=alpha)
        return name_node(made, "IndexAddBackward0")
    place, vector = entries(input, dim, index, source, "index_add")
    kind = input._array.dtype
    alpha = number_in(alpha, "index_add", "alpha")
    check_alpha(int(alpha) if isinstance(alpha, bool) else alpha, kind)
    if kind.kind == "b":
        source = source & bool(alpha)
    elif alpha != 1:
        source = source * alpha
    return _index_add_op(input, source, vector, dim=place)


@public(out=True, methods="index_copy index_copy_")
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy with the entries `index` of dimension `dim` replaced by those of `source`.

    >>> rg.index_copy(rg.zeros(3), 0, rg.tensor([2, 0]), rg.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """
    if not input._array.ndim:
        return name_node(as_vector(index_copy, input, dim, index, source), "IndexCopyBackward0")
    if input._array.ndim == 1 and isinstance(source, Tensor) and not source._array.ndim:
        source = source.reshape(1)
    place, vector = entries(input, dim, index, source, "index_copy")
    return name_node(
        index_put_op(input.contiguous(), source, vector, dims=(place,), accumulate=False),
        "IndexCopyBackward0",
    )


@public(methods="index_fill index_fill_")
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy with the entries `index` of dimension `dim` filled with `value`, a number or 0-d.

    Negative indices count from the end.

    >>> rg.index_fill(rg.zeros(3), 0, rg.tensor([0, 2]), 1.0)
    tensor([1., 0., 1.])
    """
    if not input._array.ndim:
        made = as_vector(index_fill, input, dim, index, value)
        return name_node(made, f"IndexFillBackward{int(isinstance(value, Tensor))}")
    check_vector(index, "index_fill")
    size = input._array.shape[normalize_dim(dim, input._array.ndim)]
    place, vector = entries(input, dim, from_front(index, size), None, "index_fill")
    filler = zero_dim(input, value, "index_fill")
    once = vector  # an index that repeats is filled once all the same, which the gradient sees
    plain = has_memory(vector._array) or isinstance(value, Tensor)
    if plain and has_values(vector._array):
        once = new_tensor(np.unique(vector._array))
    return name_node(
        index_put_op(input, filler, once, dims=(place,), accumulate=False),
        f"IndexFillBackward{int(isinstance(value, Tensor))}",
    )


def zero_dim(input: Tensor, value: Any, name: str) -> Tensor:
    """`value` as a 0-d tensor that may be stored in `input`."""
    target = input._array.dtype
    if not isinstance(value, (Tensor, *NUMBERS, np.generic)):
        raise wrong_type(name, "value", "Number or Tensor", value)
    if isinstance(value, Tensor):
        found = value
    else:
        found = new_tensor(fill_value(value, target))
        found._array.flags.writeable = False  # as of any number: `record.is_number`
    if found._array.ndim:
        raise RuntimeError(
            f"{name} only supports a 0-dimensional value tensor, but got tensor with "
            f"{found._array.ndim} dimension(s)."
        )
    if found._array.dtype == target:
        return found
    if has_memory(found._array):
        fill_value(found._array.item(), target)  # for its error
    return recorded.cast(found, dtype=target)


@public(methods="put put_")
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with `source` stored (or added) at the places `index` of the flattened tensor.

    Raises RuntimeError for an `index` that is not int64 and for mixed dtypes, IndexError for an
    `index` that has not as many elements as `source`.

    >>> rg.put(rg.zeros(2, 2), rg.tensor([3]), rg.tensor([1.0]))
    tensor([[0., 0.],
            [0., 1.]])
    """
    if index._array.dtype != np.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {index.dtype}")
    if input._array.dtype != source._array.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{input.dtype} and source.dtype = {source.dtype}. Convert first: "
            f"source.to({input.dtype})"
        )
    if index._array.size != source._array.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source "
            f"with {source._array.size} elements and index with {index._array.size} elements"
        )
    if not input._array.ndim:
        changed = as_non_view(put(input.reshape(1), index, source, accumulate).reshape(()))
        return name_node(changed, "PutBackward0")
    shape, vector = input._array.shape, index.reshape(-1)
    check_bounds((input._array.size,), vector, (0,))
    rows = [vector]
    for n in shape[:0:-1]:
        rows[:1] = [rows[0] // n, rows[0] % n]
    dims = tuple(range(len(shape)))
    places = stack(rows) if len(rows) > 1 else vector
    changed = index_put_op(input, source.reshape(-1), places, dims=dims, accumulate=accumulate)
    return name_node(changed, "PutBackward0")
