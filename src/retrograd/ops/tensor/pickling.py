"""Copying tensors by Python's own protocols: `copy`, `deepcopy` and `pickle`.

A copy is a leaf: it keeps values, dtype, class, `requires_grad` and the user's attributes, never a
graph. A deep copy keeps `.grad` too; tensors that share memory, copied together, share it again.
In a pickle each tensor has its own memory, as in PyTorch.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from ... import modes
from ...engine.overriding import IGNORED, NO_SUBCLASSES, named_in
from ...engine.registry import name_node
from ...engine.subclasses import with_class
from ...engine.tensor import (
    Tensor,
    array_of,
    cell_of,
    has_tangent,
    method,
    new_tensor,
    set_requires_grad,
)
from ...engine.writable import expanded
from ...kernels.allocation import has_class, has_memory, inward
from ...kernels.layout import is_permuted
from ...kernels.memory import memory, root, same_view_of
from ...kernels.memory import strided as view_of
from ..core.arguments import public

NO_LEAF = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
    "the moment. This one was made by {node}. Copy its value: x.detach().clone()"
)

NO_DUAL = (
    "A Tensor that has a tangent, in a forward derivative in progress, cannot be {done}: the copy "
    "would be without, and the derivative lost. Write x.clone(), or for a constant: "
    "x.detach().clone()"
)

NO_COPY = (
    "A Tensor that a transform of retrograd.func differentiates cannot be copied by copy.copy: the "
    "copy would be a leaf, and the derivative lost. Write x.clone(), or for a constant: x.detach()"
)

HOOK_LOST = (
    "backward hook {hook} on tensor will not be serialized. If this is expected, you can decorate "
    "the function with @retrograd.utils.hooks.unserializable_hook to suppress this warning"
)


def attributes(tensor: Tensor) -> dict[str, Any]:
    """What the user, or a subclass, has stored on the tensor."""
    found: dict[str, Any] = tensor.__dict__.copy()
    for name in slots_of(type(tensor)):
        if hasattr(tensor, name):
            found[name] = getattr(tensor, name)
    return found


def slots_of(cls: type[Tensor]) -> list[str]:
    """The names of the slots that subclasses have added to those of `Tensor`."""
    added = [vars(kind).get("__slots__", ()) for kind in cls.__mro__ if issubclass(kind, Tensor)]
    return [name for names in added[:-1] for name in ([names] if isinstance(names, str) else names)]


def restore(tensor: Tensor, stored: dict[str, Any]) -> None:
    """Store on a tensor what `attributes` found on another of its class."""
    slots = slots_of(type(tensor))
    for name, value in stored.items():
        if name in slots:
            setattr(tensor, name, value)
        else:
            tensor.__dict__[name] = value


def rebuild(cls: Any, array: Any, requires_grad: bool, stored: dict[str, Any]) -> Tensor:
    """A leaf of class `cls` around `array`; how a pickled tensor comes back."""
    made = new_tensor(array, cls)
    if requires_grad:
        set_requires_grad(made, True)
    restore(made, stored)
    array_of(made)  # which keeps them
    return made


def rebuild_laid(
    cls: Any, array: Any, axes: Any, shape: Any, requires_grad: bool, stored: dict[str, Any]
) -> Tensor:
    """`rebuild` around an array that has each element once, its axes in the order of memory."""
    array = array.transpose(np.argsort(axes).tolist())
    steps = np.broadcast_to(array, shape).strides
    return rebuild(cls, view_of(array, shape, steps), requires_grad, stored)


def check_whole(tensor: Tensor, done: str) -> None:
    """Raise if a copy of the tensor lost its tangent; warn if it loses hooks."""
    if has_tangent(tensor):
        raise RuntimeError(NO_DUAL.format(done=done))
    for hook in (tensor._backward_hooks or {}).values():
        if not getattr(hook, "__torch_unserializable__", False):
            warnings.warn(HOOK_LOST.format(hook=hook), UserWarning, stacklevel=3)


def _reduce_ex(self: Tensor, protocol: int) -> tuple[Any, ...]:
    check_whole(self, "pickled")
    held, rest = self._array, (self.requires_grad, attributes(self))
    if isinstance(held, np.ndarray) and (is_permuted(held) or expanded(held)):
        once = held[tuple([slice(None if step else 1) for step in held.strides])]
        axes = inward(held.shape, held.strides)[::-1]
        return rebuild_laid, (type(self), once.transpose(axes), axes, held.shape, *rest)
    array = held.view() if has_memory(held) else held  # not the array of `detach()`, by identity
    return rebuild, (type(self), array, *rest)


def _copy(self: Tensor) -> Tensor:
    """A leaf on the same memory and version; refused where its derivative would be lost."""
    if type(self).__reduce_ex__ is not Tensor.__reduce_ex__:
        return _by_parts(self)  # type: ignore[no-any-return]
    if modes.state.nested and not self.is_leaf:
        raise NotImplementedError(NO_COPY)
    held = self._array
    array = held.view() if has_memory(held) else held.again()
    made = rebuild(type(self), array, self.requires_grad, attributes(self))
    if not self._inference:
        made._inference = False
        made._cell = cell_of(self)
    return made


def _by_parts(self: Tensor) -> Any:
    """A copy of a subclass that says itself how it is made again."""
    found: Any = self.__reduce_ex__(4)
    function, args, *rest = found
    made = function(*args)
    if rest and rest[0] is not None:
        if hasattr(made, "__setstate__"):
            made.__setstate__(rest[0])
        else:
            restore(made, rest[0])
    return made


def _copied(array: Any, memo: dict[int, Any]) -> Any:
    """A copy of an array, in a copy of the memory that it may share with others."""
    if not isinstance(array, np.ndarray):
        return array.copy()
    owner = root(array)
    found = memo.get(id(owner))
    if found is None:
        found = memo[id(owner)] = same_view_of(owner, memory(owner).copy())
    return found if owner is array else same_view_of(array, memory(found))


@public(methods="as_subclass")
@named_in(IGNORED)
def as_subclass(self: Tensor, cls: type[Tensor]) -> Tensor:
    """The same memory and history as a tensor of class `cls`.

    Raises TypeError for what is no subclass of Tensor.

    >>> class Mine(rg.Tensor):
    ...     pass
    >>> type(rg.ones(2).as_subclass(Mine)).__name__
    'Mine'
    """
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(f"as_subclass(): cls must be a subclass of Tensor, not {cls!r}")
    with modes.Changed(overriding=NO_SUBCLASSES):
        return with_class(name_node(self.view_as(self), "AliasBackward0"), cls)


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    found: Tensor | None = memo.get(id(self))
    if found is not None:
        return found
    if not self.is_leaf:
        raise RuntimeError(NO_LEAF.format(node=self.grad_fn))
    if has_tangent(self):
        raise RuntimeError(NO_DUAL.format(done="copied by deepcopy"))
    held: Any = self._array
    if has_class(held):
        array = held.again()
        if array.data is not None:
            array.data = _copied(array.data, memo)
    else:
        array = _copied(held, memo)
    made = memo[id(self)] = rebuild(type(self), array, self.requires_grad, {})
    restore(made, copy.deepcopy(attributes(self), memo))
    array_of(made)
    if self.grad is not None:
        made._gradient = copy.deepcopy(self.grad, memo)
    return made


method(_reduce_ex, "__reduce_ex__")
method(_copy, "__copy__")
method(_deepcopy, "__deepcopy__")
