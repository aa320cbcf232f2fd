"""Methods that PyTorch still has for older programs, and those about memory that is elsewhere."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...engine.tensor import Size, Tensor, method, new_tensor
from ...kernels.allocation import has_memory
from ...locks import load
from ...ops.creation.from_data import held
from ...ops.creation.memory_format import dims_in, lies_in, memory_format
from ...ops.tensor.inspection import data_ptr, strided

__all__ = ["is_distributed"]


def new(
    self: Tensor, *data: Any, size: Any = None, storage: Any = None, device: Any = None
) -> Tensor:
    """A tensor of this dtype, from data or, for integers, uninitialised of those sizes.

    It shares the memory of a tensor, which has to have this dtype, of an array of this dtype, or of
    a storage.

    Newer programs write `new_tensor` and `new_empty`. Source: PyTorch's `Tensor.new`.

    >>> rg.ones(1, dtype=rg.int32).new([4, 5])
    tensor([4, 5], dtype=retrograd.int32)
    """
    if size is not None:
        return self.new_empty(size, device=device)
    if self.layout.name.startswith("sparse") and data and isinstance(data[0], Tensor):
        made = load("retrograd.torch.layouts.sparse.factories").sparse_coo_tensor
        return made(*data, dtype=self.dtype, device=device)  # type: ignore[no-any-return]
    data = data or (() if storage is None else (storage,))
    first = data[0] if len(data) == 1 else None
    if not data or isinstance(first, Size) or all(isinstance(n, int) for n in data):
        sizes = first if isinstance(first, Size) else data or (0,)
        return self.new_empty(tuple(sizes), device=device)
    if isinstance(first, Tensor):
        if first._array.dtype != self._array.dtype:
            ours, theirs = (dtypes.legacy_name(t.dtype) for t in (self, first))
            raise TypeError(f"expected {ours} (got {theirs}). Convert first: x.to({self.dtype})")
        return first.detach()
    if device is None and has_memory(self._array):
        return new_tensor(held(first, self.dtype.numpy))
    return self.new_tensor(first, device=device)


def _fix_weakref(self: Tensor) -> None:
    """Nothing: a tensor that a weak reference gives is alive as any other."""


def resize(self: Tensor, *sizes: Any) -> Tensor:
    """The same elements in another shape: `reshape`, under its old name.

    >>> rg.ones(2, 3).resize(3, 2).shape
    retrograd.Size([3, 2])
    """
    return self.reshape(*sizes)


def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """The same elements in the shape of another tensor: `reshape_as`, under its old name.

    >>> rg.ones(2, 3).resize_as(rg.ones(6)).shape
    retrograd.Size([6])
    """
    return self.reshape(tensor.shape)


def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions in the order in which they lie in memory, outermost first.

    Where one of size 1, or two with one stride, could stand elsewhere, `ambiguity_check=True`
    raises RuntimeError. So does a list of memory formats, unless the tensor lies in exactly one of
    them and that has this order. TypeError for anything else, AttributeError for sparse tensors.

    >>> rg.zeros(2, 3).t().dim_order()
    (1, 0)
    """
    if self.layout is not strided:
        raise AttributeError(f"Can't get dim order on sparse type: {self.layout}. Use x.to_dense()")
    steps = self._array.strides
    order = tuple(sorted(range(len(steps)), key=lambda d: -steps[d]))
    formats = [] if isinstance(ambiguity_check, bool) else ambiguity_check
    if not isinstance(formats, list) or not all(isinstance(f, memory_format) for f in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if ambiguity_check is not False and (1 in self.shape or len(set(steps)) < len(steps)):
        orders = [dims_in(f, len(steps)) for f in formats if lies_in(self._array, f)]
        if orders != [order]:
            raise RuntimeError(AMBIGUOUS.format(shape=list(self.shape), strides=self.stride()))
    return order


AMBIGUOUS = (
    "The tensor does not have unique dim order, or cannot map to exact one of the given memory "
    "formats: its shape is {shape}, its strides are {strides}. Leave ambiguity_check out"
)


def const_data_ptr(self: Tensor) -> int:
    """The address of the first element, for readers."""
    return data_ptr(self)


def is_distributed(input: Tensor) -> bool:
    """Whether the tensor lies on several machines: never.

    >>> rg.is_distributed(rg.zeros(1))
    False
    """
    return False


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Raises RuntimeError: there is no accelerator for which memory could be pinned."""
    raise RuntimeError(
        "Cannot access accelerator device when none is available. Leave pin_memory() out"
    )


def reinforce(self: Tensor, reward: Any) -> None:
    """Raises RuntimeError, as in PyTorch: nodes are not stochastic."""
    raise RuntimeError(
        "reinforce() was removed. Write the loss instead: -(log_prob * reward).sum().backward()"
    )


FUNCTIONS: tuple[Any, ...] = (
    *(new, resize, resize_as, dim_order, const_data_ptr, is_distributed),
    *(pin_memory, reinforce, _fix_weakref),
)
for function in FUNCTIONS:
    method(function)

# What Python 2 asked for.
for old, name in (
    *(("__long__", "__int__"), ("__nonzero__", "__bool__")),
    *(("__div__", "div"), ("__idiv__", "div_")),
):
    method(getattr(Tensor, name), old)
