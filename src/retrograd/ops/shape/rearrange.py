"""Rearranging elements: flips, rolls, rotations, triangles and diagonal matrices. All copy."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ...engine.dispatch import as_non_view
from ...engine.overriding import FACTORIES, named_in
from ...engine.registry import declare, example, name_node, renamed
from ...engine.tensor import Tensor, new_tensor
from ...kernels.allocation import copied, table, zeros
from ...kernels.layout import channels_like
from ...kernels.memory import in_rows
from ...kernels.native.triangles import part
from ..core.arguments import public
from ..core.dims import integer, integers, normalize_dim, normalize_dims, once
from ..core.engine_ops import SMALL
from ..creation.from_data import check_device, check_dtype
from ..creation.memory_format import contiguous_format
from .basic_views import diagonal, diagonal_dims, undiagonal

__all__ = [
    "diag", "diag_embed", "diagflat", "flip", "fliplr", "flipud", "roll", "rot90", "tril",
    "tril_indices", "triu", "triu_indices",
]  # fmt: skip

_diag_embed = renamed(undiagonal, "DiagEmbedBackward0")


def backwards(dims: tuple[int, ...]) -> tuple[slice, ...]:
    """The index that reverses an array along `dims`."""
    places = range(max(dims, default=-1) + 1)
    return tuple([slice(None, None, -1 if place in dims else None) for place in places])


_flip = declare(
    "flip(input, *, dims)",
    lambda input, *, dims: copied(input[backwards(dims)]),
    input=lambda xp, g, dims: xp.flip(g, dims=dims),
    moves="input",
    examples=[
        example("2x3", dims=(0,)),
        example("2x3x2", dims=(2, 0)),
        example("2", dims=()),
        example("0x2", dims=(0,)),
    ],
    doc="""The elements in reverse order along `dims`.""",
)

_roll = declare(
    "roll(input, *, shifts, dims)",
    lambda input, *, shifts, dims: channels_like(input, in_rows(np.roll(input, shifts, dims))),
    input=lambda xp, g, shifts, dims: xp.roll(g, shifts=tuple([-n for n in shifts]), dims=dims),
    moves="input",
    examples=[
        example("4", shifts=(1,), dims=(0,)),
        example("2x3", shifts=(1, -2), dims=(0, 1)),
        example("2x3", shifts=(5, 2), dims=(1, 1)),
    ],
    doc="""The elements moved along `dims` by `shifts`, those beyond the end to the start.""",
)


@lru_cache(maxsize=64)
def shared_mask(rows: int, columns: int, diagonal: int) -> Any:
    """A mask, not to be written, of what is not above a diagonal; of at most `SMALL` elements."""
    return triangle_mask(rows, columns, diagonal)


def triangle_mask(rows: int, columns: int, diagonal: int) -> Any:
    """A new mask of what is not above a diagonal; NumPy takes a diagonal of less than 64 bits."""
    return np.tri(rows, columns, min(max(diagonal, -rows), columns), np.bool_)


def triangle(x: Any, diagonal: int, lower: bool) -> Any:
    """Matrices with zeros above a diagonal if `lower`, else with zeros up to it."""
    if (found := part(x, diagonal, lower)) is not None:
        return found
    rows, columns = x.shape[-2:]
    mask = (shared_mask if rows * columns <= SMALL else triangle_mask)(rows, columns, diagonal)
    out = zeros(x, x.shape)
    np.copyto(out, x, where=table(x, mask if lower else ~mask))
    return out


def _triangle_record(name: str, forward: Any, formula: Any, doc: str) -> Callable[..., Tensor]:
    return declare(
        f"{name}(input, *, diagonal)",
        forward,
        input=formula,
        linear="input",
        batch="leading",
        examples=[
            example("3x3", diagonal=0),
            example("2x3x4", diagonal=1),
            example("3x2", diagonal=-1),
            example("0x2", diagonal=0),
        ],
        doc=doc,
    )


_tril = _triangle_record(
    "tril",
    lambda input, *, diagonal: triangle(input, diagonal, lower=True),
    lambda xp, g, diagonal: xp.tril(g, diagonal=diagonal),
    "The lower triangle of matrices, zeros above.",
)
_triu = _triangle_record(
    "triu",
    lambda input, *, diagonal: triangle(input, diagonal - 1, lower=False),
    lambda xp, g, diagonal: xp.triu(g, diagonal=diagonal),
    "The upper triangle of matrices, zeros below.",
)


@public(methods="flip")
def flip(input: Tensor, *places: Any, dims: Any = None) -> Tensor:
    """A copy with the elements in reverse order along `dims`: `flip(x, (0, 1))`, `flip(x, 0, 1)`.

    Raises TypeError for dims given both ways.

    >>> rg.flip(rg.tensor([1, 2, 3]), (0,))
    tensor([3, 2, 1])
    """
    given = integers(places if dims is None else once(places, dims, "flip", "dims"), "flip", "dims")
    places = normalize_dims(given, input._array.ndim)
    return _flip(input, dims=places if input._array.ndim else ())


@public(methods="fliplr")
def fliplr(input: Tensor) -> Tensor:
    """`flip` along dimension 1.

    Raises RuntimeError for fewer than two dimensions.

    >>> rg.fliplr(rg.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    if input._array.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


@public(methods="flipud")
def flipud(input: Tensor) -> Tensor:
    """`flip` along dimension 0.

    Raises RuntimeError for a 0-d tensor.

    >>> rg.flipud(rg.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    if input._array.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


@public(methods="roll")
def roll(input: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """A copy with the elements moved by `shifts` along `dims`, cyclically.

    Without `dims` the tensor is flattened for it. Raises RuntimeError where their numbers differ.

    >>> rg.roll(rg.tensor([1, 2, 3, 4]), 1)
    tensor([4, 1, 2, 3])
    """
    steps = integers((shifts,), "roll", "shifts")
    given = () if dims is None else integers((dims,), "roll", "dims")
    for step in steps:
        integer(step, "shifts")  # of 64 bits
    if not steps:
        raise RuntimeError("`shifts` required: give one for each of `dims`")
    if not given and len(steps) == 1:
        shape = input._array.shape
        return name_node(
            as_non_view(_roll(input.reshape(-1), shifts=steps, dims=(0,)).reshape(shape)),
            "RollBackward0",
        )
    if len(given) != len(steps):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(given)}"
        )
    places = tuple([normalize_dim(dim, input._array.ndim) for dim in given])
    return _roll(input, shifts=steps, dims=places)


@public(methods="rot90")
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """Rotated by `k` right angles in the plane of `dims`, from the first towards the second.

    Raises RuntimeError unless `dims` are two different dimensions, of two or more.

    >>> rg.rot90(rg.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    given = integers((dims,), "rot90", "dims")
    if len(given) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(given)}")
    if input._array.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input._array.ndim}")
    first, second = [normalize_dim(dim, input._array.ndim) for dim in given]
    if first == second:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {given[0]} and dim1 = "
            f"{given[1]}"
        )
    turns = operator.index(k) % 4
    if turns == 1:
        return name_node(flip(input.transpose(first, second), first), "Rot90Backward0")
    if turns == 2:
        return name_node(flip(input, (first, second)), "Rot90Backward0")
    if turns == 3:
        return name_node(flip(input.transpose(first, second), second), "Rot90Backward0")
    return name_node(input.clone(memory_format=contiguous_format), "Rot90Backward0")


def _check_matrix(input: Tensor, name: str) -> None:
    if input._array.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")


@public(out=True, methods="tril tril_")
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """Matrices `(..., M, N)` with zeros above the given diagonal.

    >>> rg.tril(rg.tensor([[1, 2], [3, 4]]))
    tensor([[1, 0],
            [3, 4]])
    """
    _check_matrix(input, "tril")
    return _tril(input, diagonal=integer(diagonal, "diagonal"))


@public(out=True, methods="triu triu_")
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """Matrices `(..., M, N)` with zeros below the given diagonal.

    >>> rg.triu(rg.tensor([[1, 2], [3, 4]]))
    tensor([[1, 2],
            [0, 4]])
    """
    _check_matrix(input, "triu")
    return _triu(input, diagonal=integer(diagonal, "diagonal"))


@named_in(FACTORIES)
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """The (row, column) places of the lower triangle, shape `(2, K)`, row by row.

    >>> rg.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return _places(_triangle(row, col, offset), dtype, device)


@named_in(FACTORIES)
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """The (row, column) places of the upper triangle, shape `(2, K)`, row by row.

    >>> rg.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    return _places(~_triangle(row, col, integer(offset, "offset") - 1), dtype, device)


def _triangle(row: Any, col: Any, offset: Any) -> Any:
    """Where a matrix is not above the diagonal `offset`, as booleans."""
    rows, columns = integer(row, "row"), integer(col, "col")
    for name, size in (("row", rows), ("col", columns)):
        if size < 0:
            raise RuntimeError(f"{name} must be non-negative, got {size}")
    return triangle_mask(rows, columns, integer(offset, "offset"))


def _places(chosen: Any, dtype: Any, device: Any) -> Tensor:
    """Where a matrix of booleans is true, row by row."""
    check_device(device)
    target = np.dtype(np.int64) if dtype is None else check_dtype(dtype, "indices")
    return new_tensor(np.stack(np.nonzero(chosen)).astype(target))


@public(methods="diag_embed")
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last dimension of `input` on a diagonal and zeros elsewhere.

    `dim1` and `dim2` are where the rows and columns lie in the result. Raises RuntimeError where
    they are the same, IndexError for a 0-d tensor.

    >>> rg.diag_embed(rg.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    shape = input._array.shape
    if not shape:
        raise IndexError("diag_embed() expects a tensor of at least 1 dimension, got 0-d")
    first, second = diagonal_dims(dim1, dim2, len(shape) + 1)
    size = shape[-1] + abs(offset)
    sizes = list(shape[:-1])
    for place in sorted((first, second)):
        sizes.insert(place, size)
    return _diag_embed(  # type: ignore[no-any-return]
        input, offset=offset, dim1=first, dim2=second, shape=tuple(sizes)
    )


@public(out=True, methods="diag")
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix with the vector `input` on a diagonal; of a matrix, a copy of that diagonal.

    Raises RuntimeError for other numbers of dimensions.

    >>> rg.diag(rg.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    ndim = input._array.ndim
    if ndim == 1:
        return diag_embed(input, diagonal)
    if ndim == 2:
        return name_node(_diagonal_of(input, diagonal).clone(), "DiagonalBackward0_copy")
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")


@public(methods="diagflat")
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements of `input` on a diagonal.

    >>> rg.diagflat(rg.tensor([[1], [2]]))
    tensor([[1, 0],
            [0, 2]])
    """
    return diag_embed(input.reshape(-1), offset)


def _diagonal_of(input: Tensor, offset: int) -> Tensor:
    return diagonal(input, offset)
