"""Joining and repeating tensors: cat, stack and what is composed of them. All of these copy."""

from __future__ import annotations

import itertools
import operator
import warnings
from typing import Any

import numpy as np

from ... import dtypes, version
from ...engine.dispatch import as_non_view
from ...engine.registry import declare, example, name_node
from ...engine.tensor import Tensor, constant_like, new_tensor
from ...engine.trace import users_level
from ...kernels.allocation import has_values, known_true, table, zeros
from ...kernels.layout import channels_inside, channels_like, with_channels_inside
from ...kernels.memory import in_rows
from ...kernels.native.small import quick
from ..core import batching
from ..core.arguments import public
from ..core.dims import integers, normalize_dim, once
from ..core.pointwise import unsupported
from ..indexing.index import index_select
from .expand import atleast_1d, atleast_2d, atleast_3d, broadcast_tensors, check_elements
from .reshape import reshape

__all__ = [
    "block_diag", "cartesian_prod", "cat", "column_stack", "combinations", "concat", "concatenate",
    "dstack", "hstack", "meshgrid", "repeat_interleave", "row_stack", "stack", "tile", "vstack",
]  # fmt: skip


EMPTY = (0,)  # `cat` skips a tensor of this shape, whatever the others' number of dimensions
DTYPE, SHAPE = operator.attrgetter("dtype"), operator.attrgetter("shape")


def _as_all(tensors: Any, joined: Any) -> Any:
    """What was joined, with its channels innermost where those of all tensors are."""
    return channels_like(tensors[0], joined) if all(map(channels_inside, tensors)) else joined


@quick("cat")
def _cat(*tensors: Any, dim: int) -> Any:
    dtype = tensors[0].dtype
    if {dtype}.issuperset(map(DTYPE, tensors)) and EMPTY not in map(SHAPE, tensors):
        return _as_all(tensors, in_rows(np.concatenate(tensors, dim)))
    dtype = dtypes.common(*tensors)
    arrays = [x.astype(dtype, copy=False) for x in tensors if x.shape != EMPTY]
    if not arrays:
        return zeros(tensors[0], (0,), dtype)
    return _as_all(tensors, in_rows(np.concatenate(arrays, dim)))


def _cat_shares(xp: Any, g: Any, dim: int, tensors_shape: Any) -> list[Any]:
    shares, at = [], 0
    before = (slice(None),) * dim
    for shape in tensors_shape:
        size = shape[dim] if len(shape) > dim and shape != EMPTY else 0
        part = xp.slice(g, index=(*before, slice(at, at + size)))
        shares.append(xp.reshape(part, shape=shape) if shape == EMPTY else part)
        at += size
    return shares


_cat_op = declare(
    "cat(*tensors, *, dim)",
    _cat,
    tensors=_cat_shares,
    moves="tensors",
    examples=[
        example("2x3, 1x3", dim=0),
        example("2x1, 2x3, 2x2", dim=1),
        example("0, 2x2", dim=0),
        example("3", dim=0),
    ],
    doc="""Tensors one after another along a dimension.""",
)


@quick("stack")
def _stack(*tensors: Any, dim: int) -> Any:
    dtype = tensors[0].dtype
    if any(x.dtype is not dtype for x in tensors):
        dtype = dtypes.common(*tensors)
        tensors = tuple([x.astype(dtype, copy=False) for x in tensors])
    place = (*[slice(None)] * dim, None)
    if dim < tensors[0].ndim and all(map(channels_inside, tensors)):
        shape = tensors[0].shape
        joined = with_channels_inside(np.concatenate(tensors, dim))
        return joined.reshape(*shape[:dim], len(tensors), *shape[dim:])
    return in_rows(np.concatenate([x[place] for x in tensors], dim))


_stack_op = declare(
    "stack(*tensors, *, dim)",
    _stack,
    tensors=lambda xp, g, dim, tensors_shape: [
        xp.select(g, index=(*[slice(None)] * dim, place)) for place in range(len(tensors_shape))
    ],
    moves="tensors",
    batch=batching.stack,
    examples=[example("2x3, 2x3", dim=0), example(", , ", dim=0), example("2, 2", dim=1)],
    doc="""Tensors of one shape along a new dimension.""",
)


def _sequence(tensors: Any, name: str) -> list[Tensor]:
    """The tensors of a list or tuple, checked."""
    if isinstance(tensors, Tensor):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor. Put "
            f"them into a list: {name}([x, y])"
        )
    found = list(tensors)
    check_elements(found)
    if not found:
        if name != "cat":
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    return found


@public(out=True)
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """The tensors one after another along `dim`; all other sizes must agree.

    Dtypes promote. A tensor of shape `(0,)` is skipped, as in PyTorch. Raises RuntimeError for no
    tensors, 0-d ones, and shapes that do not fit.

    >>> rg.cat([rg.tensor([1, 2]), rg.tensor([3])])
    tensor([1, 2, 3])
    """
    parts = _sequence(tensors, "cat")
    shapes = [x._array.shape for x in parts]
    first = shapes[0]
    if first and first != EMPTY and shapes.count(first) == len(shapes):
        return _cat_op(*parts, dim=normalize_dim(dim, len(first)))
    for position, shape in enumerate(shapes):
        if not shape:
            raise RuntimeError(
                f"zero-dimensional tensor (at position {position}) cannot be concatenated. Use "
                "stack, or give it a dimension: x.reshape(1)"
            )
    expected = next((shape for shape in shapes if shape != EMPTY), None)
    if expected is None:  # any `dim` will do
        return _cat_op(*parts, dim=0)
    place = normalize_dim(dim, len(expected))
    for position, shape in enumerate(shapes):
        if shape != EMPTY:
            _check_fit(shape, expected, place, position)
    return _cat_op(*parts, dim=place)


def _check_fit(shape: tuple[int, ...], expected: tuple[int, ...], dim: int, position: int) -> None:
    """Raise unless tensors of these shapes can be joined along `dim`."""
    if len(shape) != len(expected):
        raise RuntimeError(
            f"Tensors must have same number of dimensions: got {len(expected)} and {len(shape)}"
        )
    for place, (n, m) in enumerate(zip(expected, shape, strict=True)):
        if n != m and place != dim:
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Expected size {n} but "
                f"got size {m} for tensor number {position} in the list. "
                f"{other_way(shape, expected)}"
            )


def other_way(shape: tuple[int, ...], expected: tuple[int, ...]) -> str:
    """The shapes, and along which dimension they could be joined."""
    apart = [d for d, (n, m) in enumerate(zip(expected, shape, strict=True)) if n != m]
    how = f"Join them along dim={apart[0]}" if len(apart) == 1 else "Reshape one of them"
    return f"The shapes are {list(expected)} and {list(shape)}. {how}"


@public(out=True)
def concat(tensors: Any, dim: int = 0) -> Tensor:
    """`cat` under another name.

    >>> rg.concat([rg.tensor([1, 2]), rg.tensor([3])])
    tensor([1, 2, 3])
    """
    return cat(tensors, dim)


@public(out=True)
def concatenate(tensors: Any, dim: int = 0) -> Tensor:
    """`cat` under NumPy's name.

    >>> rg.concatenate([rg.tensor([1, 2]), rg.tensor([3])])
    tensor([1, 2, 3])
    """
    return cat(tensors, dim)


@public(out=True)
def stack(tensors: Any, dim: int = 0) -> Tensor:
    """The tensors, all of one shape, along a new dimension at place `dim` of the result.

    Raises RuntimeError for no tensors and for shapes that differ.

    >>> rg.stack([rg.tensor([1, 2]), rg.tensor([3, 4])], dim=1)
    tensor([[1, 3],
            [2, 4]])
    """
    parts = _sequence(tensors, "stack")
    first = parts[0]._array.shape
    place = normalize_dim(dim, len(first) + 1)
    for position, x in enumerate(parts):
        if x._array.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 "
                f"and {list(x._array.shape)} at entry {position}. Pad them to one size "
                "(nn.utils.rnn.pad_sequence), or join them by cat()"
            )
    return _stack_op(*parts, dim=place)


@public(out=True)
def hstack(tensors: Any) -> Tensor:
    """The tensors side by side: joined along dimension 1, or 0 for vectors.

    >>> rg.hstack([rg.tensor([1]), rg.tensor([2, 3])])
    tensor([1, 2, 3])
    """
    parts = [atleast_1d(x) for x in _sequence(tensors, "hstack")]
    return cat(parts, 0 if parts[0]._array.ndim == 1 else 1)


@public(out=True)
def vstack(tensors: Any) -> Tensor:
    """The tensors one above the other: joined along dimension 0, vectors as rows.

    >>> rg.vstack([rg.tensor([1, 2]), rg.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    return cat([atleast_2d(x) for x in _sequence(tensors, "vstack")], 0)


@public(out=True)
def row_stack(tensors: Any) -> Tensor:
    """`vstack` under another name.

    >>> rg.row_stack([rg.tensor([1, 2]), rg.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    return vstack(tensors)


@public(out=True)
def dstack(tensors: Any) -> Tensor:
    """The tensors one behind the other: joined along dimension 2.

    >>> rg.dstack([rg.tensor([1, 2]), rg.tensor([3, 4])]).shape
    retrograd.Size([1, 2, 2])
    """
    return cat([atleast_3d(x) for x in _sequence(tensors, "dstack")], 2)


@public(out=True)
def column_stack(tensors: Any) -> Tensor:
    """The tensors side by side, with vectors as columns.

    >>> rg.column_stack([rg.tensor([1, 2]), rg.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    parts = _sequence(tensors, "column_stack")
    return cat([x if x._array.ndim > 1 else reshape(x, (x._array.size, 1)) for x in parts], 1)


# -- repeating ---------------------------------------------------------------------------------


def _repeat_back(xp: Any, g: Any, repeats: tuple[int, ...], input_shape: tuple[int, ...]) -> Any:
    sizes = (*[1] * (len(repeats) - len(input_shape)), *input_shape)
    pairs = tuple(itertools.chain(*zip(repeats, sizes, strict=True)))
    ones = tuple(itertools.chain(*[(1, n) for n in sizes]))
    return xp.reshape(xp.sum_to(xp.reshape(g, shape=pairs), shape=ones), shape=input_shape)


_repeat_op = declare(
    "repeat(input, *, repeats)",
    lambda input, *, repeats: in_rows(np.tile(input, repeats)),
    input=_repeat_back,
    moves="input",
    batch=batching.repeat,
    examples=[
        example("2x3", repeats=(2, 1)),
        example("3", repeats=(2, 2)),
        example("", repeats=(3,)),
        example("2", repeats=(0,)),
        example("0", repeats=(2,)),
    ],
    doc="""The tensor side by side with itself, `repeats` times along each dimension.""",
)


@public(methods="repeat")
def repeat(self: Tensor, *counts: Any, repeats: Any = None) -> Tensor:
    """A copy with the tensor repeated that often along each dimension; extra numbers lead.

    Raises RuntimeError for fewer numbers than dimensions.

    >>> rg.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    counts = integers(
        counts if repeats is None else once(counts, repeats, "repeat", "repeats"),
        "repeat",
        "repeats",
    )
    if len(counts) < self._array.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            f"tensor: got {list(counts)} for a tensor of shape {list(self.shape)}"
        )
    if min(counts, default=0) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension: repeats {counts}")
    return _repeat_op(self, repeats=counts)


@public(methods="tile")
def tile(input: Tensor, *counts: Any, dims: Any = None) -> Tensor:
    """`repeat`, with missing numbers taken as 1 in front.

    >>> rg.tile(rg.tensor([[1, 2]]), (2,))
    tensor([[1, 2, 1, 2]])
    """
    counts = integers(
        counts if dims is None else once(counts, dims, "tile", "dims"), "tile", "dims"
    )
    return repeat(input, (*[1] * (input._array.ndim - len(counts)), *counts))


@public(methods="repeat_interleave")
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each entry along `dim` several times in a row; of the flattened tensor where `dim` is None.

    `repeats` is a number or a tensor of integers, one per entry. With one argument alone, entry i
    of the result's indices occurs `input[i]` times. Raises RuntimeError for negative `repeats`, and
    unless there is one or one per entry; NotImplementedError for those that are no integers.

    >>> rg.repeat_interleave(rg.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    if repeats is None:
        counts = input._array
        if counts.ndim != 1:
            raise RuntimeError(
                "repeat_interleave only accept 1D vector as repeat, but got shape "
                f"{list(counts.shape)}. With repeats of their own, write x.repeat_interleave(n)"
            )
        return new_tensor(_repeated(counts, counts.size, output_size))
    if dim is None:
        input, dim = reshape(input, (input._array.size,)), 0
    place = normalize_dim(dim, input._array.ndim)
    size = input._array.shape[place]
    if not isinstance(repeats, Tensor):
        times = operator.index(repeats)
        check_repeats(times < 0, times * size, output_size)
        return repeated(input, place, times)
    counts = repeats._array
    if counts.ndim > 1:
        raise RuntimeError(
            f"repeats must be 0-dim or 1-dim tensor, but got shape {list(counts.shape)}"
        )
    if counts.ndim and counts.size not in (1, size):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{counts.size} and input.size({place}) = {size}"
        )
    return index_select(input, place, constant_like(_repeated(counts, size, output_size), input))


def repeated(input: Tensor, dim: int, times: int) -> Tensor:
    """Each entry along `dim` that often in a row."""
    shape = input._array.shape
    spread = input.unsqueeze(dim + 1).expand((*shape[: dim + 1], times, *shape[dim + 1 :]))
    made = spread.contiguous().reshape((*shape[:dim], shape[dim] * times, *shape[dim + 1 :]))
    return name_node(as_non_view(made), "ViewBackward0")


def _repeated(counts: Any, size: int, output_size: int | None) -> Any:
    """Each place of `size` as often as `counts` says, which are integers of at least 0."""
    if counts.dtype.kind not in "iu":
        raise unsupported("repeat_interleave_cpu", counts.dtype)
    if not has_values(counts) and output_size is not None:
        return table(counts, np.zeros(output_size, np.int64))
    negative = counts.size and known_true(counts.min() < 0)
    found = np.repeat(table(counts, np.arange(size)), 0 if negative else counts)
    check_repeats(negative, found.size, output_size)
    return found


def check_repeats(negative: Any, total: int, output_size: int | None) -> None:
    """Raise for negative counts, and for a size of the result that is given and is another."""
    if negative:
        raise RuntimeError("repeats can not be negative: an entry occurs 0 times or more")
    if output_size not in (None, total):
        raise RuntimeError(f"Invalid output_size, expected {total} but got {output_size}")


# -- grids and blocks --------------------------------------------------------------------------

NO_INDEXING = (
    'meshgrid: it will be required to pass the indexing argument. Write indexing="ij", which is '
    'what it does without, or indexing="xy", as NumPy does'
)


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Views of the vectors `(N,)`, `(M,)`, ... along the axes of a grid `(N, M, ...)`.

    `indexing` "xy" exchanges the first two axes, "ij" does not, nor does None, with a warning.
    Raises RuntimeError without tensors, for one of two or more dimensions, for tensors on two
    devices, and for another `indexing`.

    >>> rg.meshgrid(rg.tensor([1, 2]), rg.tensor([3, 4]), indexing="ij")[0]
    tensor([[1, 1],
            [2, 2]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    check_elements(tensors)
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in ("ij", "xy", None):
        raise RuntimeError(
            f'meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    if any(x._array.ndim > 1 for x in tensors):
        raise RuntimeError("meshgrid: Expected 0D or 1D tensors in the tensor list")
    devices = {x.device for x in tensors}
    if len(devices) > 1:
        raise RuntimeError(
            "meshgrid expects all tensors to have the same device, but they are on "
            f"{', '.join(sorted(map(str, devices)))}. Move them: x.to('meta')"
        )
    if indexing is None:
        warnings.warn(NO_INDEXING, UserWarning, stacklevel=users_level())
    swap = indexing == "xy" and len(tensors) > 1
    if swap:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    rows = [
        reshape(x, tuple(x._array.size if i == place else 1 for i in range(len(tensors))))
        for place, x in enumerate(tensors)
    ]
    grids = broadcast_tensors(*rows)
    return (grids[1], grids[0], *grids[2:]) if swap else grids


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of entries of the vectors: shape `(N * M * ..., number of vectors)`.

    Raises RuntimeError for a tensor that is not 1-D.

    >>> rg.cartesian_prod(rg.tensor([1, 2]), rg.tensor([3, 4])).shape
    retrograd.Size([4, 2])
    """
    if any(x._array.ndim != 1 for x in tensors):
        raise RuntimeError("Expect a 1D vector, but got another shape: reshape(-1) the arguments")
    if len(tensors) == 1:
        return tensors[0]
    return stack([reshape(grid, (-1,)) for grid in meshgrid(*tensors, indexing="ij")], dim=1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of `r` entries of a vector, in their order: shape `(number of choices, r)`.

    `with_replacement`, an entry may be chosen several times. Raises RuntimeError unless the tensor
    is 1-d and `r` not negative.

    >>> rg.combinations(rg.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input._array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return constant_like(np.empty(0, input._array.dtype), input)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = itertools.chain.from_iterable(choose(range(input._array.size), r))
    found = constant_like(np.fromiter(chosen, np.int64).reshape(-1, r), input)
    return name_node(input[found], "StackBackward0")


def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given matrices along its diagonal and zeros elsewhere.

    Vectors count as rows, 0-d tensors as `(1, 1)`. Raises RuntimeError for more than two
    dimensions, TypeError for what is no tensor.

    >>> rg.block_diag(rg.tensor([[1, 2]]), rg.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    for place, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise TypeError(
                f"block_diag(): expected Tensor as element {place}, but got {type(x).__name__}. "
                "Unpack a sequence: block_diag(*blocks)"
            )
    if not tensors:
        return new_tensor(np.empty((1, 0), dtypes.default_numpy()))
    blocks = [atleast_2d(x) for x in tensors]
    for place, x in enumerate(blocks):
        if x._array.ndim > 2:
            raise RuntimeError(
                f"{version.called}.block_diag: Input tensors must have 2 or fewer dimensions. "
                f"Input {place} has {x._array.ndim} dimensions"
            )
    dtype = dtypes.common(*[x._array for x in blocks])
    width, before, rows = sum(x._array.shape[1] for x in blocks), 0, []
    for x in blocks:
        height, own = x._array.shape
        after = width - before - own
        sides = [constant_like(np.zeros((height, n), dtype), x) for n in (before, after)]
        rows.append(cat([sides[0], x, sides[1]], 1))
        before += own
    return name_node(cat(rows, 0), "BlockDiagBackward0")
