"""Writing values into tensors: `copy_`, `fill_`, `zero_`, assignment to an index, `index_put_`.

`x[key] = value` writes to the view that the basic part of the key gives, as PyTorch does; the
engine's rules for in-place writes do the rest.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ... import dtypes, modes
from ...engine.dispatch import check_broadcast
from ...engine.graph import Kind, Node, new_node
from ...engine.inplace import overwritten, rebase, write
from ...engine.overriding import PASSED, dispatched
from ...engine.registry import declare
from ...engine.saved import ASSIGNED
from ...engine.tensor import (
    Tensor,
    constant_like,
    follow,
    has_tangent,
    method,
    new_tensor,
    node_of,
    wrote,
)
from ...engine.views import check_alone, memory_after, room_for, room_of, sever
from ...engine.writable import about_to_write, check_tracked, check_writable, is_tracked, must_run
from ...errors import wrong_type
from ...kernels.allocation import empty_beside, fill_uninitialized, has_memory, has_values, zeros
from ...kernels.layout import channels_inside
from ...kernels.memory import strided
from ...quiet import calm, copyto
from ..core import batching
from ..core.arguments import public
from ..core.dims import once
from ..core.engine_ops import held_by
from ..creation.factories import allocate, check_strides, shape_of
from ..creation.from_data import NUMBERS, fill_value, refusal
from ..creation.memory_format import channels_last, channels_last_3d, check_format, preserve_format
from ..creation.new import is_sparse
from ..shape.expand import expanded
from ..tensor.storage import TypedStorage, UntypedStorage, is_storage
from .index import basic_view, index_put_op, places, read_indices
from .keys import as_many, check_bounds, combine, covers, only_masks, parse

__all__ = ["fill", "index_put"]

NO_PLACES = (
    "Cannot assign to a sparse tensor: it has no memory for other places than those of its "
    "entries. Make a dense one, x.to_dense(), or one with these entries"
)


def _copied(input: Any, other: Any) -> Any:
    out = empty_beside(input)
    np.copyto(out, held_by(out.dtype, other), casting="unsafe")
    return out


# One function under three names, so that `grad_fn` says what was done, as in PyTorch.
_copy = declare(
    "copy(input, other)",
    _copied,
    input=lambda xp, g: xp.zeros_like(g),
    other=lambda xp, g: g,
    keeps="input, other",
    contiguous="input",
    batch=batching.like_input("copy"),
    examples=["2x3, 2x3", "2x3, 3", "2x3, ", "0x2, 2"],
    node_name="torch::autograd::CopyBackwards",
    doc="""`other` in the shape and dtype of `input`, whose values have no influence.""",
)

_fill = declare(
    "fill(input, value)",
    _copied,
    input=lambda xp, g: xp.zeros_like(g),
    value=lambda xp, g: g,
    keeps="input, value",
    batch=batching.like_input("fill"),
    examples=["2x3, ", ", ", "0, "],
    doc="""A tensor like `input` in which every element is `value`.""",
)

_zero = declare(
    "zero(input)",
    lambda x: np.zeros_like(empty_beside(x)),
    input=lambda xp, g: xp.zeros_like(g),
    keeps="input",
    batch=batching.like_input("zero"),
    examples=["2x3", ""],
    doc="""A tensor like `input` in which every element is 0.""",
)


@public(methods="copy_")
def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write `src`, a number or a tensor, which broadcasts and is cast, into the tensor; returns it.

    The old values have derivative 0. Raises RuntimeError where `src` does not broadcast to the
    tensor's shape.

    >>> rg.zeros(2).copy_(rg.tensor([1, 2]))
    tensor([1., 2.])
    """
    if isinstance(src, (bool, int, float, complex, np.number, np.bool_)):
        src = new_tensor(np.array(src))
    if not isinstance(src, Tensor):
        raise wrong_type("copy_", "other", "Tensor", src, 1)
    check_broadcast(self._array.shape, src._array.shape, "copy_")
    return _store(self, "copy_", _copy, src)


def _store(target: Tensor, name: str, record: Any, value: Tensor) -> Tensor:
    """Write `value` into the whole of `target`; without a graph, straight into its memory."""
    expanded(value._array.shape, target._array.shape)
    uniform = record is _fill
    if must_run(target, (value,)):
        if modes.special or not has_memory(target._array):
            method = "copy_" if name == ASSIGNED else name
            seen = dispatched(getattr(Tensor, method), (target, value), {})
            if seen is not PASSED:
                return seen  # type: ignore[no-any-return]
        return write(target, name, record, (value,), {}, uniform)
    check_writable(target, name, uniform=uniform)
    array = target._array
    copyto(array, held_by(array.dtype, value._array), casting="unsafe")
    return overwritten(target, name)


@public(methods="fill")
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like `input` in which every element is `value`, a number or a 0-d tensor.

    >>> rg.fill(rg.zeros(2), 3.0)
    tensor([3., 3.])
    """
    return _fill(input, _scalar(input, value, "fill"))


@public(methods="fill_")
def fill_(self: Tensor, value: Any) -> Tensor:
    """Write `value`, a number or a 0-d tensor, into every element.

    >>> rg.zeros(2).fill_(3)
    tensor([3., 3.])
    """
    return _store(self, "fill_", _fill, _scalar(self, value, "fill_"))


def _scalar(self: Tensor, value: Any, name: str) -> Tensor:
    if isinstance(value, Tensor):
        found = value
    elif isinstance(value, (*NUMBERS, np.generic)):
        found = new_tensor(fill_value(value, self._array.dtype))
    else:
        raise wrong_type(name, "value", "Number or Tensor", value, 1)
    if found._array.ndim:
        raise RuntimeError(
            f"{name} only supports 0-dimension value tensor but got tensor with "
            f"{found._array.ndim} dimensions. Write x.copy_(value)"
        )
    return found


@public(methods="zero_")
def zero_(self: Tensor) -> Tensor:
    """Write 0 into every element.

    >>> rg.ones(2).zero_()
    tensor([0., 0.])
    """
    if must_run(self, ()):
        return write(self, "zero_", _zero, (), {}, True)
    check_writable(self, "zero_", uniform=True)
    self._array[...] = 0
    return overwritten(self, "zero_")


# -- assignment to an index --------------------------------------------------------------------


def _setitem(self: Tensor, key: Any, value: Any) -> None:
    """`x[key] = value`: `value`, a number or a tensor, broadcasts to the region and is cast.

    The gradient of the old values there is 0, that of `value` is what arrives there. Raises
    IndexError for an index out of bounds, RuntimeError where the shapes do not fit, for a leaf that
    requires grad, and for a tensor of another dtype where tensors or lists index (one element for
    a mask is cast); TypeError for a sparse tensor.

    >>> x = rg.zeros(2, 2)
    >>> x[0] = rg.tensor([1.0, 2.0]); x[:, 1] = 5.0; x
    tensor([[1., 5.],
            [0., 5.]])
    """
    if is_sparse(self):
        raise TypeError(NO_PLACES)
    source = _value(self, value)
    if key is False:
        return
    basics, tensors = parse(self._array.shape, key, True)
    region = self if covers(basics, self._array.shape) else basic_view(self, basics)
    if tensors:
        found, dims = combine(self, tensors)
        found = as_many(region, key, found, dims, source)
        shape = region_shape(region._array.shape, found, dims)
        source = _strip(source, len(shape))
        if isinstance(value, Tensor) and value._array.dtype != self._array.dtype:
            if value._array.size == 1 and only_masks(key):
                if has_memory(value._array):
                    fill_value(value._array.item(), self._array.dtype)  # for its error
            else:
                check_values(source, shape)
                check_same(self, value)
        _put(region, ASSIGNED, source, found, dims, False)
        return
    _store(region, ASSIGNED, _copy, _strip(source, region._array.ndim))


def _delitem(self: Tensor, key: Any) -> None:
    """`del x[key]`: TypeError, for a tensor keeps its size."""
    raise TypeError("Tensor does not support deleting items. Take those to keep: x = x[mask]")


def _value(self: Tensor, value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if not isinstance(value, (*NUMBERS, np.generic)):
        raise TypeError(
            f"can't assign a {type(value).__name__} to a tensor of {self.dtype}. Make it a tensor: "
            "x[key] = retrograd.tensor(value)"
        )
    target = self._array.dtype
    most = 2**64 if target == np.uint64 else 2**63
    if target.kind in "iu" and isinstance(value, int) and not -(2**63) <= value < most:
        raise refusal(np.dtype(np.int64), None)
    if target.itemsize == 2 and dtypes.category(target) == 2:  # rounds, if need be to infinity
        wide = np.float64(dtypes.real_scalar(value, np.dtype(np.float64)))
        with np.errstate(over="ignore"):
            value = float(wide.astype(target))
    return _scalar(self, value, "setitem")


def _strip(value: Tensor, ndim: int) -> Tensor:
    """`value` without leading dimensions of size 1 beyond `ndim`."""
    shape = value._array.shape
    extra = len(shape) - ndim
    if extra > 0 and all(n == 1 for n in shape[:extra]):
        return value.reshape(shape[extra:])
    return value


def _put(
    target: Tensor,
    name: str,
    values: Tensor,
    found: Tensor,
    dims: tuple[int, ...],
    accumulate: bool,
) -> Tensor:
    """Write `values` at the indices; without a graph, straight into the target's memory."""
    check_bounds(target._array.shape, found, dims)
    check_values(values, region_shape(target._array.shape, found, dims))
    if accumulate or must_run(target, (values,)):
        how = {"dims": dims, "accumulate": accumulate}
        return write(target, name, index_put_op, (values, found), how)
    check_writable(target, name)
    calm(operator.setitem, target._array, places(found._array, dims), values._array)
    return overwritten(target, name)


def region_shape(shape: tuple[int, ...], found: Tensor, dims: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of what `index` gives."""
    inner = found._array.shape if len(dims) == 1 else found._array.shape[1:]
    rest = [n for dim, n in enumerate(shape) if dim not in dims]
    adjacent = dims[-1] - dims[0] == len(dims) - 1
    start = dims[0] if adjacent else 0
    return (*rest[:start], *inner, *rest[start:])


@public(methods="index_put")
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with `values` stored at the index tensors, one per dimension; added if `accumulate`.

    `values` broadcasts to the indexed region and has the tensor's dtype. Without `accumulate`,
    which of several values for one place is stored is not defined. Raises IndexError for an index
    out of bounds, RuntimeError where shapes do not fit.

    >>> rg.index_put(rg.zeros(3), (rg.tensor([0, 0]),), rg.tensor([1.0, 2.0]), accumulate=True)
    tensor([3., 0., 0.])
    """
    region, found, dims = _checked(input, indices, values, "index_put")
    changed = index_put_op(region, values, found, dims=dims, accumulate=accumulate)
    return changed if region is input else changed.reshape(input._array.shape)


@public(methods="index_put_")
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """In-place form of `index_put`."""
    region, found, dims = _checked(self, indices, values, "index_put_")
    _put(region, "index_put_", values, found, dims, accumulate)
    return self


def _checked(input: Tensor, indices: Any, values: Any, name: str) -> Any:
    if not isinstance(values, Tensor):
        raise wrong_type(name, "values", "Tensor", values)
    region, found, dims = read_indices(input, indices, name)
    found = as_many(region, tuple(indices), found, dims, values)
    check_bounds(region._array.shape, found, dims)
    check_values(values, region_shape(region._array.shape, found, dims))
    check_same(input, values)
    return region, found, dims


def check_same(input: Tensor, values: Tensor) -> None:
    """Raise unless `values`, to be stored at index tensors, has the dtype of `input`."""
    if values._array.dtype != input._array.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{dtypes.legacy_name(input.dtype)} for the destination and "
            f"{dtypes.legacy_name(values.dtype)} for the source. Convert first: values.to(x.dtype)"
        )


def check_values(values: Tensor, region: tuple[int, ...]) -> None:
    """Raise unless `values` broadcasts to an indexed region."""
    shape = values._array.shape
    extra = len(shape) - len(region)
    fits = extra <= 0 and all(
        n in (1, m) for n, m in zip(reversed(shape), reversed(region), strict=False)
    )
    if not fits:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(shape)} cannot be broadcast to indexing "
            f"result of shape {list(region)}"
        )


# -- memory ------------------------------------------------------------------------------------


@public(methods="resize_")
def resize_(self: Tensor, *sizes: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """Give the tensor another shape, with more elements (the new ones are zeros) or fewer.

    It stays where it is as long as there is room, in row-major order, or that of `memory_format`,
    from its first element on; the room is the memory of its base, or that which it had before it
    was made smaller. Raises RuntimeError where it requires grad, or needs more room while others
    look at what it has.

    >>> rg.tensor([1, 2, 3, 4]).resize_(2).resize_(2, 2)
    tensor([[1, 2],
            [3, 4]])
    """
    shape = shape_of(sizes if size is None else once(sizes, size, "resize_", "size"), "resize_")
    about_to_write(self)
    if self._node is not None and not (modes.state.inference and self.is_leaf):
        raise RuntimeError("cannot resize variables that require grad")
    if has_tangent(self):
        raise RuntimeError(
            "cannot resize variables that has a forward grad. Write x.new_zeros(sizes)"
        )
    inside = memory_format is not None and inner_channels(memory_format, len(shape))
    if shape == self._array.shape and not inside:
        return self
    check_strides(shape, self._array.dtype)
    rows = (shape[0], *shape[2:], shape[1]) if inside else shape
    array = room_for(self, rows)
    if array is None:
        check_alone(self)
        room, kind = memory_after(self), self._array.dtype
        flat = self._array.ravel("K")
        if room is not None:
            flat = room[: room.size // kind.itemsize * kind.itemsize].view(kind)
        lost = not has_values(flat)
        array = zeros(flat, rows) if lost else fill_uninitialized(allocate(np.zeros, rows, kind))
        count = min(flat.size, array.size)
        array.reshape(-1)[:count] = flat[:count]
    if inside:
        array = np.moveaxis(array, -1, 1)
    sever(self, array)
    self._array = array
    follow(self)
    wrote(self, "resize_")
    return self


@public(methods="resize_as_")
def resize_as_(self: Tensor, other: Tensor, *, memory_format: Any = None) -> Tensor:
    """`self.resize_(other.shape)`; errors as there.

    `preserve_format` asks for the order in memory of `other`.
    """
    if memory_format is preserve_format:
        inside = channels_inside(other._array)
        memory_format = {4: channels_last, 5: channels_last_3d}[other.ndim] if inside else None
    return resize_(self, other._array.shape, memory_format=memory_format)


def inner_channels(format: Any, ndim: int) -> bool:
    """Whether `resize_` is to lay channels innermost; RuntimeError for a format it cannot give."""
    check_format(format, ndim, "resize_")
    if format is preserve_format:
        raise RuntimeError("Unsupported memory format preserve_format for resize_(). Leave it out")
    return bool(format.ndim)


class NotImplementedNode(Node):
    """The node of an op that has no derivative; PyTorch's name for it is `NotImplemented`."""

    __slots__ = ()


NotImplementedNode.__name__ = "NotImplemented"


class Underivable(Kind):
    """The kind of the nodes of writes that have no derivative."""

    def vjp(self, node: Node, g: Any, create_graph: bool, needed: Any) -> Any:
        """Raise, for there is nothing to contribute."""
        raise RuntimeError(
            f"derivative for {self.name} is not implemented. Give it detached tensors: "
            f"x.detach().{self.name}(y.detach())"
        )


SET = Underivable("set_", NotImplementedNode)


@public(methods="set_")
def set_(
    self: Tensor,
    source: Tensor | UntypedStorage | TypedStorage | None = None,
    storage_offset: int = 0,
    size: Any = None,
    stride: Any = None,
) -> Tensor:
    """Let the tensor share the memory of `source`, a tensor or a storage, or have no elements.

    With `size` it shows that many elements of the memory behind `source`, from the element
    `storage_offset` on and in steps of `stride`, row-major ones where it is not given.
    Each of the two goes on counting its own writes, as in PyTorch. A recorded `set_`, of or from a
    tensor that requires grad, has no derivative: a backward pass through it raises.
    Raises RuntimeError for a dtype that differs, a leaf that requires grad, and sizes that reach
    beyond the memory.

    >>> rg.zeros(3).set_(rg.ones(2))
    tensor([1., 1.])
    >>> rg.zeros(0).set_(rg.arange(6.0).storage(), 1, (2, 2), (2, 1))
    tensor([[1., 2.],
            [3., 4.]])
    """
    about_to_write(self)
    given: Any = source
    held: Any = None
    if is_storage(given) or size is not None:
        held = given if is_storage(given) else given.storage()
        given = _part(held._as_array(self._array.dtype), storage_offset, size, stride)
    tracked = is_tracked(self, () if given is None else (given,))
    if tracked:
        check_tracked(self, "set_")
    if has_tangent(self):
        raise NotImplementedError(
            "set_() does not support forward AD: the tensor would keep the tangent of its old "
            "values. Write x.copy_(source)"
        )
    if given is None:
        given = constant_like(np.empty(0, self._array.dtype), self)
    if given._array.dtype != self._array.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {given.dtype} to a tensor of type {self.dtype}"
        )
    if has_values(given._array) is not has_values(self._array):
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{self.device}" to a storage on '
            f'different device "{given.device}". This is no longer allowed; the devices must match.'
        )
    node = new_node(SET, (node_of(self), node_of(given))) if tracked else None
    sever(self, given._array)
    self._array, self._room = given._array, room_of(given)
    wrote(self, "set_")
    if held is not None:
        held.untyped()._keep(self)
    if node is not None:
        node.shape, node.dtype, node._cell = self._array.shape, self._array.dtype, self._cell
        rebase(self, node)
    else:
        follow(self)
    return self


def _part(room: Any, offset: int, size: Any, stride: Any) -> Tensor:
    """The elements of a storage, `room`, that `set_` is to show, as a tensor."""
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    shape = (room.size - offset,) if size is None else shape_of((size,), "set_")
    rows = np.cumprod([1, *[max(n, 1) for n in reversed(shape[1:])]])[::-1]
    steps = [int(n) * room.itemsize for n in (rows if stride is None else stride)]
    return new_tensor(strided(room, shape, steps, offset * room.itemsize))


method(_setitem, "__setitem__")
method(_delitem, "__delitem__")
