"""Copies of a tensor with one region replaced: `select_scatter`, `slice_scatter` and relatives.

Each is the engine's `splice`, the record of an in-place write to a view, with the view's op for its
path. So the region's cotangent is that view of the whole, and the rest's has zeros there.
"""

from __future__ import annotations

import operator
from typing import Any

from ...engine.registry import OPS, name_node
from ...engine.tensor import Tensor
from ..core.arguments import public
from ..core.dims import normalize_dim
from ..core.engine_ops import splice
from .basic_views import check_entry, diagonal_dims
from .strided import own_strided

__all__ = ["as_strided_scatter", "diagonal_scatter", "select_scatter", "slice_scatter"]


def _replaced(input: Tensor, src: Tensor, name: str, **params: Any) -> Tensor:
    """A copy of `input` with `src`, which is cast, in the place of the view `name(**params)`."""
    view = OPS[name]
    shape = view.forward(input._array, **params).shape
    if shape != src._array.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(shape)}"
        )
    return splice(input, src, path=((view, params, None),), layout=())


@public(methods="select_scatter")
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy with the entry `index` along `dim` replaced by `src`, which has one dimension less.

    Raises IndexError for an index out of bounds, RuntimeError for a `src` of another shape.

    >>> rg.select_scatter(rg.zeros(2, 2), rg.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    place, entry = check_entry(input, dim, index)
    return name_node(
        _replaced(input, src, "select", index=(*[slice(None)] * place, entry)),
        "SelectScatterBackward0",
    )


@public(out=True, methods="slice_scatter")
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """A copy with the entries `start:end:step` along `dim` replaced by `src`.

    Raises RuntimeError for a step that is not positive and for a `src` of another shape.

    >>> rg.slice_scatter(rg.zeros(4), rg.ones(2), 0, 1, 4, 2)
    tensor([0., 1., 0., 1.])
    """
    place = normalize_dim(dim, input._array.ndim)
    if operator.index(step) <= 0:
        raise RuntimeError(f"slice step must be positive, but got {step}")
    index = (*[slice(None)] * place, slice(start, end, step))
    return name_node(_replaced(input, src, "slice", index=index), "SliceScatterBackward0")


@public(methods="diagonal_scatter")
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """A copy with the diagonal of two dimensions replaced by `src`; arguments as for `diagonal`.

    Raises RuntimeError where the dimensions are the same and for a `src` of another shape.

    >>> rg.diagonal_scatter(rg.zeros(2, 2), rg.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    first, second = diagonal_dims(dim1, dim2, input._array.ndim)
    return name_node(
        _replaced(input, src, "diagonal", offset=offset, dim1=first, dim2=second),
        "DiagonalScatterBackward0",
    )


@public(methods="as_strided_scatter")
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None
) -> Tensor:
    """A copy with the elements that `as_strided` would show replaced by `src`.

    Places that occur twice in that view have no defined value or derivative. Errors as for
    `as_strided_`, and RuntimeError for a `src` of another shape.

    >>> rg.as_strided_scatter(rg.zeros(2, 2), rg.ones(2), (2,), (3,))
    tensor([[1., 0.],
            [0., 1.]])
    """
    params = own_strided(input, size, stride, storage_offset, "as_strided_scatter")
    return name_node(_replaced(input, src, "as_strided", **params), "AsStridedScatterBackward0")
