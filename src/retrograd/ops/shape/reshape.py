"""Shapes: the same elements in another shape or as another dtype, and detached aliases.

Everything here is a view where the memory allows it. A record takes resolved parameters (dimensions
counted from the front, complete shapes), because a view's path is replayed later. The order of
dimensions is in `permute`, their number and repetition in `expand`, parts of a tensor in
`basic_views` and `split`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.dispatch import as_non_view
from ...engine.graph import LEAF
from ...engine.registry import declare, example, name_node, renamed
from ...engine.tensor import Tensor, alias, cell_of, node_of
from ...engine.transforms.batch import is_batch
from ...engine.views import base_of, live_views
from ...kernels.allocation import has_memory
from ...kernels.layout import Turned
from ..core import batching, engine_ops
from ..core.arguments import public
from ..core.dims import integers, normalize_dim, once, resolve_shape
from ..creation import memory_format as formats

__all__ = ["clone", "detach", "flatten", "ravel", "reshape", "unflatten"]

_reshape = declare(
    "reshape(input, *, shape)",
    lambda input, *, shape: input.reshape(shape),
    input=lambda xp, g, input_shape: xp.reshape(g, shape=input_shape),
    linear="input",
    view="maybe",
    batch=batching.reshape,
    examples=[
        example("2x3", shape=(3, 2)),
        example("2x3x2", shape=(12,)),
        example("", shape=(1, 1)),
        example("1", shape=()),
        example("0x3", shape=(3, 0, 2)),
    ],
    node_name=lambda node: (
        "ReshapeAliasBackward0" if node.params[0].__class__ is Turned else "ViewBackward0"
    ),
    doc="""The same elements, in row-major order, in another shape; a view where possible.""",
)

_view: Callable[..., Tensor] = renamed(_reshape, "ViewBackward0")
COPY = "UnsafeViewBackward0"  # what the node of a copy is called


def _viewed(input: Any, *, dtype: np.dtype[Any]) -> Any:
    if input.size or not input.ndim:
        return input.view(dtype)
    last = input.shape[-1] * input.dtype.itemsize // dtype.itemsize  # NumPy may give it no strides
    return input.reshape(-1).view(dtype).reshape(*input.shape[:-1], last)


_view_dtype = declare(
    "view_dtype(input, *, dtype)",
    _viewed,
    view=True,
    batch="leading",
    examples=[
        example("2x3:real", dtype=np.dtype(np.int32)),
        example(":real", dtype=np.dtype(np.int64)),
        example("0x2:real", dtype=np.dtype(np.int32)),
    ],
    doc="""The same bytes read as another dtype; not differentiable.""",
)

_contiguous = declare(
    "contiguous(input)",
    lambda input: input.copy(),
    input=lambda xp, g: g,
    keeps="input",
    batch="leading",
    examples=["2x3"],
    node_name="CloneBackward0",
    doc="""A copy in row-major order.""",
)


@public(methods="reshape")
def reshape(input: Tensor, *sizes: Any, shape: Any = None) -> Tensor:
    """The same elements in row-major order, in `shape`; one size may be -1 and is inferred.

    A view where the memory layout allows, else a copy. Raises RuntimeError where the number of
    elements differs.

    >>> rg.reshape(rg.tensor([1, 2, 3, 4]), (2, -1))
    tensor([[1, 2],
            [3, 4]])
    """
    wanted = integers(sizes if shape is None else once(sizes, shape, "reshape", "shape"), "reshape")
    resolved = resolve_shape(wanted, input._array.size)
    made = _reshape(input, shape=resolved)
    return made if made._view_of is not None else name_node(made, COPY)


@public(methods="view")
def view(self: Tensor, *shape: Any, dtype: Any = None, size: Any = None) -> Tensor:
    """A view with another shape, as `reshape` but never copying, or of another dtype.

    `x.view(dtype)` reads the same bytes as `dtype`, whose size may differ if the last dimension
    can be divided accordingly; `float` and similar stand for dtypes. It has no history, as
    `detach()`. Raises RuntimeError where only a copy could have that shape.

    >>> rg.tensor([1, 2, 3, 4]).view(2, 2).shape, rg.tensor([1.0]).view(rg.int32)
    (retrograd.Size([2, 2]), tensor([1065353216], dtype=retrograd.int32))
    """
    if dtype is None and len(shape) == 1 and isinstance(shape[0], (dtypes.dtype, type)):
        dtype = shape[0]
    if dtype is not None:
        return view_dtype(self, dtypes.to_numpy(dtype))
    array = self._array.example if is_batch(self) else self._array  # the memory of one example
    wanted = integers(shape if size is None else once(shape, size, "view", "size"), "view", "size")
    resolved = resolve_shape(wanted, array.size)
    if not array.flags.c_contiguous and not np.may_share_memory(array.reshape(resolved), array):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead. The size "
            f"is {list(array.shape)}"
        )
    return _view(self, shape=resolved)


def view_dtype(self: Tensor, dtype: np.dtype[Any]) -> Tensor:
    """`x.view(dtype)`, with PyTorch's errors for sizes that do not divide."""
    array = self._array
    old, new = array.dtype.itemsize, dtype.itemsize
    kinds = " as ".join(map(dtypes.legacy_name, (array.dtype, dtype)))
    if old != new and array.ndim == 0:
        raise RuntimeError(f"self.dim() cannot be 0 to view {kinds} (different element sizes)")
    if old < new and array.shape[-1] * old % new:
        raise RuntimeError(
            f"self.size(-1) must be divisible by {new // old} to view {kinds} (different element "
            f"sizes), but got {array.shape[-1]}"
        )
    if old != new and array.size and array.shape[-1] != 1 and array.strides[-1] != old:
        raise RuntimeError(
            f"self.stride(-1) must be 1 to view {kinds} (different element sizes), but got "
            f"{array.strides[-1] // old}"
        )
    if old < new and array.size:
        steps = [(f"stride({dim})", array.strides[dim]) for dim in range(array.ndim - 1)]
        counted = [step for step, size in zip(steps, array.shape, strict=False) if size > 1]
        if array.__class__ is np.ndarray:
            counted.insert(0, ("storage_offset()", self.storage_offset() * old))
        for name, step in counted:
            if step % new:
                raise RuntimeError(
                    f"self.{name} must be divisible by {new // old} to view {kinds} (different "
                    f"element sizes), but got {step // old}. Copy it first: x.clone()"
                )
    return detach(_view_dtype(self, dtype=dtype))


@public(methods="view_as")
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """`self.view(other.shape)`."""
    return view(self, other._array.shape)


@public(methods="reshape_as")
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """`self.reshape(other.shape)`."""
    return reshape(self, other._array.shape)


@public(methods="flatten")
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` made one; a view where possible.

    A 0-d tensor becomes 1-d. Raises RuntimeError where `start_dim` comes after `end_dim`.

    >>> rg.flatten(rg.ones(2, 3, 4), 1).shape
    retrograd.Size([2, 12])
    """
    shape = input._array.shape
    start, end = normalize_dim(start_dim, len(shape)), normalize_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(input, (1,))
    if start == end:
        return input
    merged = math.prod(shape[start : end + 1])
    made = _reshape(input, shape=(*shape[:start], merged, *shape[end + 1 :]))
    return made if made._view_of is not None else name_node(made, COPY)


@public(methods="unflatten")
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """Dimension `dim` split into `sizes`, of which one may be -1; a view.

    Raises RuntimeError where the sizes do not multiply to the dimension's and for a 0-d tensor,
    TypeError where they are no tuple.

    >>> rg.unflatten(rg.ones(6, 2), 0, (3, -1)).shape
    retrograd.Size([3, 2, 2])
    """
    shape = input._array.shape
    if not shape:
        raise RuntimeError(
            f"unflatten: Dimension specified as {dim} but tensor has no dimensions. Write "
            "x.reshape(sizes)"
        )
    place = normalize_dim(dim, len(shape))
    if not isinstance(sizes, (tuple, list)):
        raise TypeError(
            f"unflatten(): argument 'sizes' must be tuple of ints, not {type(sizes).__name__}. "
            f"Write ({sizes},)"
        )
    wanted = integers((sizes,), "unflatten", "sizes")
    if not wanted:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        resolved = resolve_shape(wanted, shape[place])
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(wanted)} don't multiply up to the size of dim "
            f"{place} ({shape[place]}) in the input tensor"
        ) from None
    return view(input, (*shape[:place], *resolved, *shape[place + 1 :]))


@public(methods="ravel")
def ravel(input: Tensor) -> Tensor:
    """All elements in row-major order in one dimension; a view of a contiguous tensor, else a copy.

    >>> rg.ravel(rg.ones(2, 3)).shape
    retrograd.Size([6])
    """
    return view(contiguous(input), (-1,))


@public(methods="contiguous")
def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """`self` if its elements lie in row-major order, else a copy in which they do.

    With `memory_format`, the same for that order: `channels_last` for four dimensions. Raises
    RuntimeError for other dimensions, and for `preserve_format` where a copy is needed.

    >>> rg.zeros(1, 2, 3, 4).contiguous(memory_format=rg.channels_last).stride()
    (24, 1, 8, 2)
    """
    if memory_format is None or memory_format is formats.contiguous_format:
        return self if self._array.flags.c_contiguous else _contiguous(self)
    if memory_format is formats.preserve_format and not self._array.flags.c_contiguous:
        raise RuntimeError(
            "preserve memory format is unsupported by the contiguous operator. Leave it out"
        )
    formats.check_format(memory_format, self._array.ndim, "contiguous")
    if formats.lies_in(self._array, memory_format):
        return self
    return formats.copied_in(self, memory_format, "contiguous")


@public(methods="clone")
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy with its own memory; the gradient flows back unchanged.

    Its elements lie in memory as those of the tensor, or in the order of `memory_format`.

    >>> x = rg.ones(2, requires_grad=True)
    >>> rg.clone(x).sum().backward(); x.grad
    tensor([1., 1.])
    """
    if memory_format is None:
        return engine_ops.clone(input)
    return formats.copied_in(input, memory_format, "clone")


def in_own_memory(result: Tensor, source: Tensor) -> Tensor:
    """What a composition of views made of `source`, in memory of its own: copied where it is not.

    PyTorch has a kernel for it, whose result never shows the input, also where nothing is moved.
    """
    return engine_ops.clone(result) if base_of(result) is base_of(source) else as_non_view(result)


@public(methods="detach")
def detach(input: Tensor) -> Tensor:
    """A tensor with the same memory and version, without a graph: a write to one changes both.

    A saved value that is written through a detached alias raises in the backward pass.

    >>> rg.detach(rg.ones(2, requires_grad=True)).requires_grad
    False
    """
    found = alias(input, None)
    if not has_memory(found._array):
        found._array.detach(input, found)
    return found


@public(methods="detach_")
def detach_(self: Tensor) -> Tensor:
    """Remove the tensor's graph: it becomes a leaf that does not require grad.

    Raises RuntimeError for a view, whose history is its base's.
    """
    if self._view_of is not None:
        raise RuntimeError("Can't detach views in-place. Use detach() instead: x = x.detach()")
    if not self._inference:
        cell_of(self)  # the node may have saved its output, which it would no longer be told of
    for view in live_views(self):
        if view._node is not None and view._node.inherited:
            view._node = None
        elif view._view_of.origin == "plain":
            node_of(view)  # its history, while there is one to derive it from
    if self._node is not None:
        self._parked = self._node if self._node.op is LEAF else None
    self._node = None
    self._tangents = None
    if not has_memory(self._array):
        self._array = self._array.detached()
    return self
