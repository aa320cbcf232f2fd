"""Cutting a tensor into several views by one call: split, chunk, unbind and relatives.

All pieces of a `split`, `chunk` or `unbind` come from one node, so the cotangents of the pieces are
joined by one copy.
"""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

from ... import dtypes, version
from ...engine.registry import declare, example, name_node, renamed
from ...engine.tensor import Tensor
from ..core.arguments import public
from ..core.dims import integer, normalize_dim
from .basic_views import basic

__all__ = [
    "chunk", "dsplit", "hsplit", "split", "split_with_sizes", "tensor_split", "unbind",
    "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "vsplit",
]  # fmt: skip


def _split(input: Any, *, sizes: tuple[int, ...], dim: int) -> Any:
    parts, at = [], 0
    before = (slice(None),) * dim
    for size in sizes:
        parts.append(input[(*before, slice(at, at + size))])
        at += size
    return tuple(parts)


def _unbound(input: Any, *, dim: int) -> Any:
    before = (slice(None),) * dim
    return tuple([input[(*before, i, ...)] for i in range(input.shape[dim])])


_split_op: Any = declare(
    "split(input, *, sizes, dim) -> *parts",
    _split,
    input=lambda xp, g, dim, sizes: xp.cat(*g, dim=dim),  # sizes: for who reads the node
    linear="input",
    view=True,
    examples=[
        example("5x2", sizes=(2, 3), dim=0),
        example("2x4", sizes=(1, 0, 3), dim=1),
        example("3", sizes=(3,), dim=0),
    ],
    saved={"split_sizes": "sizes", "split_size": lambda sizes: sizes[0]},
    doc="""Views of consecutive pieces of the given sizes along a dimension.""",
)

_split_with_sizes = renamed(_split_op, "SplitWithSizesBackward0")

_unbind: Any = declare(
    "unbind(input, *, dim) -> *parts",
    _unbound,
    input=lambda xp, g, dim: xp.stack(*g, dim=dim),
    linear="input",
    view=True,
    examples=[example("3x2", dim=0), example("2x3", dim=1), example("2", dim=0)],
    doc="""Views of every entry along a dimension, without that dimension.""",
)


@public(methods="split")
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive pieces along `dim`: of one size (the last may be smaller), or of a list.

    The views must not be written in place where a gradient is wanted. Raises RuntimeError for a
    0-d tensor, a size that is not positive, and sizes that do not add up.

    >>> rg.split(rg.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    shape = tensor._array.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    place = normalize_dim(dim, len(shape))
    size = shape[place]
    listed = isinstance(split_size_or_sections, (tuple, list))
    if listed:
        sizes = tuple([operator.index(n) for n in split_size_or_sections])
        if sum(sizes) != size or min(sizes, default=0) < 0:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's "
                f"size at dimension {place}), but got split_sizes={list(sizes)}"
            )
    else:
        sizes = equal_sizes(size, integer(split_size_or_sections, "split_size"))
    op = _split_with_sizes if listed else _split_op
    return op(tensor, sizes=sizes, dim=place)  # type: ignore[no-any-return]


def equal_sizes(size: int, each: int) -> tuple[int, ...]:
    """The sizes of pieces of `each` entries, the last of which may be smaller."""
    if each < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={each}")
    if each == 0 and size:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}"
        )
    if not size:
        return (0,)
    full, rest = divmod(size, each)
    return (*[each] * full, rest) if rest else (each,) * full


@public(methods="split_with_sizes")
def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """`split` with a list of sizes.

    >>> rg.split_with_sizes(rg.tensor([1, 2, 3]), [1, 2])
    (tensor([1]), tensor([2, 3]))
    """
    return split(input, list(split_sizes), dim)


@public(methods="chunk")
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of at most `chunks` pieces along `dim`, all of one size but the last.

    Raises RuntimeError for a 0-d tensor and where `chunks` is not positive.

    >>> [part.shape[0] for part in rg.chunk(rg.ones(5), 3)]
    [2, 2, 1]
    """
    shape = input._array.shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    place = normalize_dim(dim, len(shape))
    each = -(-shape[place] // chunks)
    if not each:
        return _split_op(input, sizes=(0,) * chunks, dim=place)  # type: ignore[no-any-return]
    return split(input, each, place)


def _single_views(
    input: Tensor, parts: tuple[Tensor, ...], dim: int, name: str = "UnsafeSplitBackward0"
) -> tuple[Tensor, ...]:
    """The same pieces, but each as a view made by a call of its own, which may be written."""
    before = (slice(None),) * normalize_dim(dim, input._array.ndim)
    edges = itertools.accumulate((p._array.shape[len(before)] for p in parts), initial=0)
    places = [(*before, slice(a, b)) for a, b in itertools.pairwise(edges)]
    return tuple([name_node(basic(input, index=place), name) for place in places])


@public(methods="unsafe_split")
def unsafe_split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """`split` into views that you may change in place, also if they require grad.

    Each is a view of its own, so unlike in PyTorch such a write is no risk: gradients are right.

    >>> rg.unsafe_split(rg.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    return _single_views(tensor, split(tensor.detach(), split_size_or_sections, dim), dim)


@public(methods="unsafe_split_with_sizes")
def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """`unsafe_split` with a list of sizes.

    >>> rg.unsafe_split_with_sizes(rg.tensor([1, 2, 3]), [1, 2])
    (tensor([1]), tensor([2, 3]))
    """
    parts = split(input.detach(), list(split_sizes), dim)
    return _single_views(input, parts, dim, "UnsafeSplitWithSizesBackward0")


@public(methods="unsafe_chunk")
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`chunk` into views that may be written in place, as `unsafe_split`.

    >>> rg.unsafe_chunk(rg.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    return _single_views(input, chunk(input.detach(), chunks, dim), dim)


@public(methods="tensor_split")
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces along `dim`: a number of them, as equal as possible, or cut at indices.

    Unlike those of `split`, each is a view of its own, and may be written in place. Raises
    RuntimeError for a 0-d tensor and where the number is not positive.

    >>> [part.shape[0] for part in rg.tensor_split(rg.ones(5), 3)]
    [2, 2, 1]
    >>> [part.shape[0] for part in rg.tensor_split(rg.ones(5), (1, 4))]
    [1, 3, 1]
    """
    shape = input._array.shape
    if not shape:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    place = normalize_dim(dim, len(shape))
    size = shape[place]
    given = indices_or_sections
    if isinstance(given, Tensor):
        if given._array.dtype != np.int64:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                f"{dtypes.legacy_name(given.dtype)}. Convert first: x.long()"
            )
        if given.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                f"one-dimensional tensor, but got a tensor with {given.ndim} dims"
            )
        given = given._array.tolist()
    if isinstance(given, (tuple, list)):
        cuts = [slice(None, operator.index(n)).indices(size)[1] for n in given]
    else:
        sections = integer(given, "sections")
        if sections <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
        each, more = divmod(size, sections)
        cuts = [each * i + min(i, more) for i in range(1, sections)]
    before = (slice(None),) * place
    pairs = itertools.pairwise([0, *cuts, size])  # cuts that overlap give empty pieces
    return tuple([basic(input, index=(*before, slice(a, max(a, b)))) for a, b in pairs])


@public(methods="unbind")
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of every entry along `dim`, without that dimension.

    The views must not be written in place where a gradient is wanted. Raises IndexError for a 0-d
    tensor.

    >>> rg.unbind(rg.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    shape = input._array.shape
    if not shape:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    place = normalize_dim(dim, len(shape))
    return _unbind(input, dim=place) if shape[place] else ()


@public(methods="hsplit")
def hsplit(input: Tensor, indices_or_sections: Any, *more: int) -> tuple[Tensor, ...]:
    """`tensor_split` along the columns: dimension 1, or 0 of a vector.

    >>> rg.hsplit(rg.tensor([[1, 2], [3, 4]]), 2)
    (tensor([[1],
            [3]]), tensor([[2],
            [4]]))
    """
    return _even(input, (indices_or_sections, *more), int(input._array.ndim > 1), 1, "hsplit")


@public(methods="vsplit")
def vsplit(input: Tensor, indices_or_sections: Any, *more: int) -> tuple[Tensor, ...]:
    """`tensor_split` along the rows, dimension 0.

    >>> rg.vsplit(rg.tensor([[1, 2], [3, 4]]), 2)
    (tensor([[1, 2]]), tensor([[3, 4]]))
    """
    return _even(input, (indices_or_sections, *more), 0, 2, "vsplit")


@public(methods="dsplit")
def dsplit(input: Tensor, indices_or_sections: Any, *more: int) -> tuple[Tensor, ...]:
    """`tensor_split` along dimension 2.

    >>> [part.shape for part in rg.dsplit(rg.zeros(1, 2, 4), [1])]
    [retrograd.Size([1, 2, 1]), retrograd.Size([1, 2, 3])]
    """
    return _even(input, (indices_or_sections, *more), 2, 3, "dsplit")


def _even(
    input: Tensor, places: tuple[Any, ...], dim: int, least: int, name: str
) -> tuple[Tensor, ...]:
    """`tensor_split` for at least `least` dimensions, into a number of pieces that divides.

    `places` is that number alone, a sequence of borders alone, or several borders.
    """
    given = places if len(places) > 1 else places[0]
    shape = input._array.shape
    if len(shape) < least:
        raise RuntimeError(
            f"{version.called}.{name} requires a tensor with at least {least} dimension, but got a "
            f"tensor with {len(shape)} dimensions!"
        )
    if isinstance(given, int) and (given <= 0 or shape[dim] % given):
        raise RuntimeError(
            f"{version.called}.{name} attempted to split along dimension {dim}, but the size of "
            f"the dimension {shape[dim]} is not divisible by the split_size {given}!"
        )
    return tensor_split(input, given, dim)
