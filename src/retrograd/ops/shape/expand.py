"""Dimensions of size 1: adding, dropping and repeating them. All are views."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

from ...engine.dispatch import check_broadcast
from ...engine.inplace import become_view
from ...engine.registry import declare, example, renamed
from ...engine.tensor import Size, Tensor
from ..core.arguments import public
from ..core.dims import as_number, integers, normalize_dim, normalize_dims, once
from ..core.dims import broadcast_shapes as common_shape
from ..core.engine_ops import expand as _expand
from .reshape import reshape

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_shapes", "broadcast_tensors",
    "broadcast_to", "squeeze", "unsqueeze",
]  # fmt: skip


def _with_ones(shape: tuple[int, ...], dims: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the input of a squeeze."""
    sizes = list(shape)
    for dim in dims:
        sizes.insert(dim, 1)
    return tuple(sizes)


_squeeze = declare(
    "squeeze(input, *, dims)",
    lambda input, *, dims: input.squeeze(dims),
    input=lambda xp, g, dims: xp.unsqueeze(g, dims=dims),
    linear="input",
    view=True,
    examples=[
        example("1x3x1", dims=(0, 2)),
        example("1x3", dims=(0,)),
        example("1", dims=(0,)),
        example("2x3", dims=()),
        example("1x0", dims=(0,)),
    ],
    saved={"dim": lambda dims: as_number(dims), "self_sym_sizes": _with_ones},
    doc="""A view without the dimensions `dims`, which all have size 1 and are in order.""",
)
_squeeze_one = renamed(_squeeze, "SqueezeBackward1")
_squeeze_several = renamed(_squeeze, "SqueezeBackward2")


def _unsqueeze_arrays(input: Any, *, dims: tuple[int, ...]) -> Any:
    if len(dims) == 1:  # four times as fast
        return input[(*WHOLE * dims[0], None)]
    return np.expand_dims(input, dims)


WHOLE = (slice(None),)

_unsqueeze = declare(
    "unsqueeze(input, *, dims)",
    _unsqueeze_arrays,
    input=lambda xp, g, dims: xp.squeeze(g, dims=dims),
    linear="input",
    view=True,
    examples=[
        example("3", dims=(0,)),
        example("2x3", dims=(0, 2)),
        example("", dims=(0,)),
        example("0", dims=(1,)),
    ],
    saved={"dim": lambda dims: as_number(dims)},
    doc="""A view with new dimensions of size 1 at the places `dims` of the result.""",
)


@public(methods="expand")
def expand(self: Tensor, *sizes: Any, size: Any = None, implicit: bool = False) -> Tensor:
    """A view with size-1 dimensions repeated to `sizes`; -1 keeps a size, new ones lead.

    The result must not be written in place, since its elements share memory. Raises RuntimeError
    where a dimension of another size would have to change.

    >>> rg.tensor([[1], [2]]).expand(-1, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    wanted = integers(
        sizes if size is None else once(sizes, size, "expand", "size"), "expand", "size"
    )
    shape = self._array.shape
    if len(wanted) < len(shape):
        raise too_short(shape, wanted, self.type())
    return _expand(self, shape=expanded(shape, wanted))


def too_short(shape: tuple[int, ...], sizes: tuple[int, ...], kind: str = "Tensor") -> RuntimeError:
    """The error for fewer sizes than dimensions."""
    return RuntimeError(
        f"expand({kind}{{{list(shape)}}}, size={list(sizes)}): the number of sizes provided "
        f"({len(sizes)}) must be greater or equal to the number of dimensions in the tensor "
        f"({len(shape)})"
    )


def expanded(shape: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """`sizes` with each -1 replaced by the size it stands for; PyTorch's errors."""
    lead = len(sizes) - len(shape)
    if lead < 0:
        raise too_short(shape, sizes)
    found = []
    for place, size in enumerate(sizes):
        if place < lead:
            if size < 0:
                raise RuntimeError(
                    f"The expanded size of the tensor ({size}) isn't allowed in a leading, "
                    f"non-existing dimension {place}"
                )
        else:
            own = shape[place - lead]
            if own not in (size, 1) and size != -1:
                raise RuntimeError(
                    f"The expanded size of the tensor ({size}) must match the existing size "
                    f"({own}) at non-singleton dimension {place}.  Target sizes: {list(sizes)}.  "
                    f"Tensor sizes: {list(shape)}. Only a size of 1 expands: x.unsqueeze(dim) "
                    "makes one, and x.repeat(...) copies"
                )
        found.append(shape[place - lead] if size == -1 else size)
    return tuple(found)


@public(methods="expand_as")
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """`self.expand(other.shape)`."""
    return expand(self, other._array.shape)


@public(methods="broadcast_to")
def broadcast_to(input: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """A view with the shape `sizes`, to which the tensor broadcasts.

    >>> rg.broadcast_to(rg.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return expand(input, *sizes, size=size)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Views of all tensors in the one shape they broadcast to; RuntimeError if there is none.

    A tensor that has that shape is returned itself, so that a leaf stays one.

    >>> a, b = rg.broadcast_tensors(rg.ones(3, 1), rg.ones(2))
    >>> a.shape, b.shape
    (retrograd.Size([3, 2]), retrograd.Size([3, 2]))
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    shapes = [x._array.shape for x in tensors]
    for first, second in itertools.combinations(shapes, 2):
        check_broadcast(first, second, "broadcast_tensors")
    shape = common_shape(*shapes)
    return tuple(x if x._array.shape == shape else _expand(x, shape=shape) for x in tensors)


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape to which tensors of all of `shapes` broadcast; an integer n stands for `(n,)`.

    Raises RuntimeError where they do not, ValueError for a negative size.

    >>> rg.broadcast_shapes((2,), (3, 1))
    retrograd.Size([3, 2])
    """
    sizes = [tuple(s) if isinstance(s, (tuple, list)) else (operator.index(s),) for s in shapes]
    if any(n < 0 for shape in sizes for n in shape):
        raise ValueError("Attempting to broadcast a dimension with negative length!")
    return Size(common_shape(*sizes))


@public(methods="squeeze")
def squeeze(input: Tensor, dim: Any = None, *more: int) -> Tensor:
    """A view without dimensions of size 1: all of them, or those among `dim`.

    `dim` is an integer, several, or a tuple; dimensions of other sizes stay.

    >>> rg.squeeze(rg.ones(1, 3, 1)).shape, rg.squeeze(rg.ones(1, 3, 1), 0).shape
    (retrograd.Size([3]), retrograd.Size([3, 1]))
    """
    dim = (dim, *more) if more else dim
    dims = ones_among(input._array.shape, dim)
    if dim is None:
        return _squeeze(input, dims=dims)
    op = _squeeze_several if isinstance(dim, (tuple, list)) else _squeeze_one
    return op(input, dims=dims)  # type: ignore[no-any-return]


def ones_among(shape: tuple[int, ...], dim: Any) -> tuple[int, ...]:
    """The dimensions of size 1 among `dim`, or among all where it is None, in order."""
    among = range(len(shape)) if dim is None else sorted(normalize_dims(dim, len(shape)))
    return tuple([d for d in among if shape and shape[d] == 1])


@public(methods="squeeze_")
def squeeze_(self: Tensor, dim: Any = None, *more: int) -> Tensor:
    """Drop dimensions of size 1 from the tensor itself."""
    dim = (dim, *more) if more else dim
    dims = {"dims": ones_among(self._array.shape, dim)}
    overload = 3 if dim is None else 5 if isinstance(dim, (tuple, list)) else 4
    return become_view(self, "squeeze_", ("squeeze", dims), ("unsqueeze", dims), overload)


@public(methods="unsqueeze")
def unsqueeze(input: Tensor, dim: Any = None) -> Tensor:
    """A view with a new dimension of size 1 at place `dim` of the result.

    Raises IndexError where there is no such place.

    >>> rg.unsqueeze(rg.ones(3), -1).shape
    retrograd.Size([3, 1])
    """
    return _unsqueeze(input, dims=(normalize_dim(dim, input._array.ndim + 1),))


@public(methods="unsqueeze_")
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """Give the tensor itself a new dimension of size 1."""
    dims = {"dims": (normalize_dim(dim, self._array.ndim + 1),)}
    return become_view(self, "unsqueeze_", ("unsqueeze", dims), ("squeeze", dims))


def atleast_1d(*tensors: Any) -> Any:
    """The tensor, or a tuple of all tensors, with 0-d ones as `(1,)`.

    >>> rg.atleast_1d(rg.tensor(2.0))
    tensor([2.])
    """
    return _each(tensors, lambda x: x if x._array.ndim else reshape(x, (1,)))


def atleast_2d(*tensors: Any) -> Any:
    """The tensor or tensors with at least two dimensions, new ones in front.

    >>> rg.atleast_2d(rg.ones(3)).shape
    retrograd.Size([1, 3])
    """
    return _each(tensors, _two)


def atleast_3d(*tensors: Any) -> Any:
    """The tensor or tensors with at least three dimensions: `(N,)` to `(1, N, 1)`.

    `(M, N)` becomes `(M, N, 1)`.

    >>> rg.atleast_3d(rg.ones(3)).shape
    retrograd.Size([1, 3, 1])
    """
    return _each(tensors, lambda x: x if x._array.ndim > 2 else unsqueeze(_two(x), -1))


def _two(x: Tensor) -> Tensor:
    if x._array.ndim > 1:
        return x
    return unsqueeze(x, 0) if x._array.ndim else reshape(x, (1, 1))


def check_elements(tensors: Any) -> None:
    """Raise TypeError unless all elements of a sequence are tensors."""
    for place, value in enumerate(tensors):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"expected Tensor as element {place} in argument 0, but got {type(value).__name__}"
            )


def _each(tensors: tuple[Any, ...], function: Any) -> Any:
    if len(tensors) == 1:
        if isinstance(tensors[0], Tensor):
            return function(tensors[0])
        tensors = tuple(tensors[0])
        check_elements(tensors)
    return tuple(map(function, tensors))
