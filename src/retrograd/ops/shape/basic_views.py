"""Views of a part of a tensor: slices, single entries, diagonals, windows, strided regions.

Each comes with its adjoint, a copy: zeros of the whole shape with the cotangent in that part. Knows
nothing of how users write an index; `index` does, nor of memory behind a tensor; `strided` does.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ...engine.naming import integer_in
from ...engine.registry import OPS, declare, example
from ...engine.tensor import Tensor
from ...engine.views import STEPS
from ...kernels.allocation import has_values, table, zeros
from ...kernels.memory import strided, windows
from ...kernels.sums import in_single
from ..core import batching, batching_index
from ..core.arguments import public
from ..core.dims import integer, normalize_dim

__all__ = ["diagonal", "narrow", "select"]

HALF, REST = slice(0, 1), slice(1, None)
EVERY_OTHER = slice(None, None, 2)


def _slice(input: Any, *, index: tuple[Any, ...]) -> Any:
    return input[(*index, ...)]  # with "...", NumPy gives a view even of one element


def _unslice(input: Any, *, index: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    out = zeros(input, shape)
    out[(*index, ...)] = input
    return out


def _back(xp: Any, g: Any, index: tuple[Any, ...], input_shape: tuple[int, ...]) -> Any:
    """`g` at the places of `index`, in zeros of the input's shape."""
    if all(i is None or i == slice(None) for i in index):  # nothing but new dimensions
        return xp.slice(g, index=tuple([0 if i is None else i for i in index]))
    return xp.unslice(g, index=index, shape=input_shape)


def _chosen(index: Any) -> tuple[int, Any]:
    """(dimension, entry) of what a basic index chooses: its first entry that is not all."""
    entries = enumerate(index)
    return next(((d, e) for d, e in entries if e is None or e != slice(None)), (0, slice(None)))


def _part(index: Any, name: str, default: int) -> int:
    """The start, stop or step of the slice that is chosen."""
    value = getattr(_chosen(index)[1], name, None)
    return default if value is None else value


# One function under three names, so that `grad_fn` says what was done, as in PyTorch. The index is
# a tuple of integers, slices and None, from the first dimension on; the rest is taken whole.
basic = declare(
    "slice(input, *, index)",
    _slice,
    input=_back,
    linear="input",
    view=True,
    batch=batching.regions("slice"),
    examples=[
        example("3x4", index=(HALF,)),
        example("3x4", index=(slice(None), EVERY_OTHER)),
        example("3x4", index=(REST, None, -1)),
        example("2x3", index=()),
        example("0x3", index=(slice(None), REST)),
        example("", index=(None,)),
    ],
    saved={
        "dim": lambda index: _chosen(index)[0],
        "start": lambda index: _part(index, "start", 0),
        "end": lambda index: _part(index, "stop", 2**63 - 1),
        "step": lambda index: _part(index, "step", 1),
    },
    doc="""The part of a tensor at a basic index, as a view.""",
)

_select = declare(
    "select(input, *, index)",
    _slice,
    input=_back,
    linear="input",
    view=True,
    batch=batching.regions("select"),
    examples=[
        example("3x4", index=(1,)),
        example("3x4", index=(slice(None), -1)),
        example("3", index=(2,)),
        example("0x3", index=(slice(None), 0)),
    ],
    saved={"dim": lambda index: _chosen(index)[0], "index": lambda index: _chosen(index)[1]},
    doc="""One entry along a dimension, as a view without that dimension.""",
)

new_axis = declare(
    "new_axis(input, *, index)",
    _slice,
    input=_back,
    linear="input",
    view=True,
    batch=batching.regions("new_axis"),
    examples=[example("3x4", index=(None,)), example("", index=(None, None))],
    node_name="UnsqueezeBackward0",
    saved={"dim": lambda index: _chosen(index)[0]},
    doc="""A view with dimensions of size 1 where the index says None.""",
)

unslice = declare(
    "unslice(input, *, index, shape)",
    _unslice,
    input=lambda xp, g, index: xp.slice(g, index=index),
    moves="input",
    batch=batching.regions("unslice"),
    examples=[
        example("1x4", index=(HALF,), shape=(3, 4)),
        example("2x1", index=(REST, None, 1), shape=(3, 4)),
        example("", index=(0, 1), shape=(2, 2)),
    ],
    node_name="SliceBackward0",
    doc="""Zeros of `shape` with `input` at the index: the adjoint of a basic index.""",
)


def _diagonal(input: Any, *, offset: int, dim1: int, dim2: int) -> Any:
    reach = max(input.shape)  # NumPy takes a C integer
    found = input.diagonal(min(max(offset, -reach), reach), dim1, dim2)
    if getattr(input.flags, "writeable", False):  # NumPy hands out a read-only view
        found.flags.writeable = True
    return found


def _undiagonal(input: Any, *, offset: int, dim1: int, dim2: int, shape: tuple[int, ...]) -> Any:
    out = zeros(input, shape)
    _diagonal(out, offset=offset, dim1=dim1, dim2=dim2)[...] = input
    return out


_diagonal_op = declare(
    "diagonal(input, *, offset, dim1, dim2)",
    _diagonal,
    input=lambda xp, g, offset, dim1, dim2, input_shape: xp.undiagonal(
        g, offset=offset, dim1=dim1, dim2=dim2, shape=input_shape
    ),
    linear="input",
    view=True,
    examples=[
        example("3x3", offset=0, dim1=0, dim2=1),
        example("2x4", offset=1, dim1=0, dim2=1),
        example("2x3x3", offset=-1, dim1=2, dim2=1),
        example("2x2", offset=4, dim1=0, dim2=1),
    ],
    doc="""A view of the diagonal of two dimensions, which becomes the last dimension.""",
)

undiagonal = declare(
    "undiagonal(input, *, offset, dim1, dim2, shape)",
    _undiagonal,
    input=lambda xp, g, offset, dim1, dim2: xp.diagonal(g, offset=offset, dim1=dim1, dim2=dim2),
    moves="input",
    examples=[
        example("3", offset=0, dim1=0, dim2=1, shape=(3, 3)),
        example("2x2", offset=-1, dim1=2, dim2=1, shape=(2, 3, 3)),
    ],
    node_name="DiagonalBackward0",
    doc="""Zeros of `shape` with `input` on a diagonal: the adjoint of `diagonal`.""",
)


def _unfold(input: Any, *, dim: int, size: int, step: int) -> Any:
    x = input if input.ndim else input.reshape(1)
    found = windows(x, (input.ndim and dim,), (size,), (step,), (1,))
    return found if input.ndim else found[0]


def _refold(input: Any, *, dim: int, size: int, step: int, shape: tuple[int, ...]) -> Any:
    out = zeros(input, shape or (1,))
    parts = input if shape else input[None]
    count = parts.shape[dim]
    at: list[Any] = [slice(None)] * out.ndim
    for place in range(size):  # one strided addition per place in the window
        at[dim] = slice(place, place + (count - 1) * step + 1, step)
        out[tuple(at)] += parts[..., place]
    return out.reshape(shape)


_unfold_op = declare(
    "unfold(input, *, dim, size, step)",
    _unfold,
    input=lambda xp, g, dim, size, step, input_shape: xp.refold(
        g, dim=dim, size=size, step=step, shape=input_shape
    ),
    linear="input",
    view=True,
    examples=[
        example("6", dim=0, size=3, step=1),
        example("2x5", dim=1, size=2, step=2),
        example("5x2", dim=0, size=2, step=3),
        example("", dim=0, size=1, step=1),
    ],
    saved={"dimension": "dim"},
    doc="""A view of all windows along a dimension, each in a new last dimension.""",
)

refold = declare(
    "refold(input, *, dim, size, step, shape)",
    _refold,
    input=lambda xp, g, dim, size, step: xp.unfold(g, dim=dim, size=size, step=step),
    adds="input",
    examples=[
        example("4x3", dim=0, size=3, step=1, shape=(6,)),
        example("2x2x2", dim=1, size=2, step=2, shape=(2, 5)),
    ],
    node_name="UnfoldBackwardBackward0",
    doc="""Windows added where they came from: the adjoint of `unfold`.""",
)


def _strided(input: Any, *, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Any:
    last = offset + sum([(n - 1) * step for n, step in zip(size, stride, strict=True)])
    if 0 not in size and last >= input.size:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset} are "
            f"out of bounds for storage of size {input.size}, the elements of a tensor of shape "
            f"{list(input.shape)}"
        )
    width = input.dtype.itemsize
    elements = np.ascontiguousarray(input) if has_values(input) else input
    return strided(elements, size, [step * width for step in stride], offset * width)


@in_single
def _unstrided(
    input: Any,
    *,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    offset: int,
    shape: tuple[int, ...],
) -> Any:
    out = zeros(input, math.prod(shape))
    places = _strided(np.arange(out.size), size=size, stride=stride, offset=offset)
    np.add.at(out, table(out, places), input)
    return out.reshape(shape)


as_strided = declare(
    "as_strided(input, *, size, stride, offset)",
    _strided,
    input=lambda xp, g, size, stride, offset, input_shape: xp.unstrided(
        g, size=size, stride=stride, offset=offset, shape=input_shape
    ),
    linear="input",
    view=True,
    batch=batching_index.strided,
    examples=[
        example("3x4", size=(2, 2), stride=(4, 1), offset=1),
        example("6", size=(4, 3), stride=(1, 1), offset=0),
    ],
    saved={"storage_offset": "offset"},
    doc="""A view with any sizes and strides into the elements in row-major order.""",
)

STEPS["as_strided"] = OPS["as_strided"]

unstrided = declare(
    "unstrided(input, *, size, stride, offset, shape)",
    _unstrided,
    input=lambda xp, g, size, stride, offset: xp.as_strided(
        g, size=size, stride=stride, offset=offset
    ),
    adds="input",
    batch=batching_index.unstrided,
    examples=[example("4x3", size=(4, 3), stride=(1, 1), offset=0, shape=(6,))],
    node_name="AsStridedBackward0",
    doc="""Elements added where a strided view read them: the adjoint of `as_strided`.""",
)


def out_of_bounds(index: Any, dim: int, size: int) -> IndexError:
    """The error for an index that a dimension does not have; ValueError beyond 64 bits."""
    integer_in(index)
    there = f": indices go from {-size} to {size - 1}" if size else ", which has no element"
    return IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}{there}")


def check_entry(input: Tensor, dim: int, index: int) -> tuple[int, int]:
    """`dim` counted from the front, and `index`; IndexError where there is no such entry."""
    shape = input._array.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    place, entry = normalize_dim(dim, len(shape)), operator.index(index)
    if not -shape[place] <= entry < shape[place]:
        raise IndexError(
            f"select(): index {entry} out of range for tensor of size {list(shape)} at dimension "
            f"{place}"
        )
    return place, entry


@public(methods="select")
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The entry `index` along `dim`, as a view without that dimension.

    Raises IndexError for a 0-d tensor and for an index out of bounds.

    >>> rg.select(rg.tensor([[1, 2], [3, 4]]), 1, -1)
    tensor([2, 4])
    """
    place, entry = check_entry(input, dim, index)
    return _select(input, index=(*[slice(None)] * place, entry))


@public(methods="narrow")
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """`length` entries along `dim` from `start` on, as a view.

    Raises RuntimeError or IndexError where they exceed the dimension.

    >>> rg.narrow(rg.tensor([1, 2, 3, 4]), 0, 1, 2)
    tensor([2, 3])
    """
    shape = input._array.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    place, first = normalize_dim(dim, len(shape)), integer(start, "start")
    size = shape[place]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -size <= first <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {first})"
        )
    first += size if first < 0 else 0
    if first + length > size:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return basic(input, index=(*[slice(None)] * place, slice(first, first + length)))


def diagonal_dims(dim1: int, dim2: int, ndim: int) -> tuple[int, int]:
    """The two dimensions of a diagonal, from the front; RuntimeError where they are the same."""
    first, second = normalize_dim(dim1, ndim), normalize_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return first, second


@public(methods="diagonal")
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of dimensions `dim1` and `dim2`, as a view in which it is the last dimension.

    `offset` counts upwards to the right. Raises RuntimeError where the dimensions are the same.

    >>> rg.diagonal(rg.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    first, second = diagonal_dims(dim1, dim2, input._array.ndim)
    return _diagonal_op(input, offset=offset, dim1=first, dim2=second)


@public(methods="unfold")
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """All windows of `size` entries along `dimension`, `step` apart, as a view.

    Shape `(..., L, ...)` becomes `(..., (L - size) // step + 1, ..., size)`. Raises RuntimeError
    where a window does not fit or `step` is not positive.

    >>> rg.tensor([1, 2, 3, 4]).unfold(0, 2, 1)
    tensor([[1, 2],
            [2, 3],
            [3, 4]])
    """
    shape = self._array.shape
    dim = normalize_dim(dimension, len(shape))
    length = shape[dim] if shape else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > length:
        raise RuntimeError(
            f"maximum size for tensor at dimension {dim} is {length} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return _unfold_op(self, dim=dim, size=size, step=step)
