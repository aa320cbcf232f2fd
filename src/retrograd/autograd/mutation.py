"""`allow_mutation_on_saved_tensors`: saved values are copied just before they are overwritten.

NOTE [Copies on demand]
1. Within the context, a saved value is packed as a `Handle`, and `original` holds the value by its
   handle. A value that several nodes save in the same state has one handle.
2. Before an in-place operation writes, the handles on that memory are looked up, and what they
   stand for moves, copied, from `original` to `cloned`.
3. Nodes hold the handles; the context holds them weakly. So a value is not copied once its graph is
   gone, and a copy goes with the graph.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, MutableMapping
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from .. import modes
from ..engine.tensor import Tensor, new_tensor
from ..kernels.memory import address, root

OUTSIDE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the "
    "graph was originally recorded. Move the backward pass into the `with` block."
)


class Handle:
    """What a node saves in place of a value."""

    __slots__ = ("__weakref__",)


class SavedValues:
    """What the context knows of the values saved within it: `original` and `cloned`, by handle."""

    def __init__(self) -> None:
        self.outer = modes.state.before_write  # of whoever else looks at writes
        self.original: MutableMapping[Handle, Tensor] = WeakKeyDictionary()
        self.cloned: MutableMapping[Handle, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: MutableMapping[Any, Handle] = WeakValueDictionary()
        self.on_memory: dict[int, WeakSet[Handle]] = {}

    def pack(self, tensor: Tensor) -> Handle:
        """The handle of a value, a new one unless it is saved already and was not written since."""
        array = tensor._array
        place = (address(array), array.shape, array.strides, array.dtype)
        handle = self.tid_to_weakhandle.get(place)
        if handle is None or handle not in self.original:
            handle = self.tid_to_weakhandle[place] = Handle()
            self.original[handle] = tensor
            self.on_memory.setdefault(id(root(array)), WeakSet()).add(handle)
        return handle

    def unpack(self, handle: Handle) -> Tensor:
        """The value of a handle. Raises AssertionError once the context was left."""
        found = self.cloned.get(handle)
        found = self.original.get(handle) if found is None else found
        if found is None:
            raise AssertionError(OUTSIDE)
        return found

    def before_write(self, target: Tensor) -> None:
        """Copy the saved values that lie in the memory of `target`."""
        if self.outer is not None:
            self.outer(target)
        key = id(root(target._array))
        for handle in list(self.on_memory.get(key, ())):
            value = self.original.pop(handle, None)
            if value is not None:
                self.cloned[handle] = new_tensor(value._array.copy())
        self.on_memory.pop(key, None)

    def clear(self) -> None:
        """Forget all saved values, as the context ends."""
        for table in (self.original, self.cloned, self.tid_to_weakhandle, self.on_memory):
            table.clear()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[SavedValues]:
    """A context in which you may change tensors in place after they were saved.

    What is about to be overwritten is copied first, so the backward pass, which must run in the
    same context, sees the values of the forward. Raises RuntimeError inside another such context.
    Source: PyTorch's `allow_mutation_on_saved_tensors`.

    >>> x = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> with rg.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = (y * y).sum()
    ...     _ = y.zero_()
    ...     z.backward()
    >>> x.grad
    tensor([2., 4.])
    """
    if isinstance(getattr(modes.state.before_write, "__self__", None), SavedValues):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    values = SavedValues()
    hooks = (*modes.state.saved_hooks, (values.pack, values.unpack))
    before = modes.change(saved_hooks=hooks, before_write=values.before_write)
    try:
        yield values
    finally:
        modes.restore(before)
        values.clear()
