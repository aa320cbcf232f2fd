"""Methods of a tensor about its gradient: asking for one, keeping it, and hooks."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from ... import dtypes
from ...engine.backward.hooks import HookTable, RemovableHandle, hooks_of
from ...engine.graph import LEAF, leaf_node
from ...engine.tensor import ANY, Tensor, gradient_dtype, method, node_of, set_requires_grad
from ...engine.trace import users_level
from ..core.arguments import public

NO_GRADIENT = (
    "cannot register a hook on a tensor that doesn't require gradient. Ask for one first: "
    "x.requires_grad_()"
)


@public(methods="requires_grad_")
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Set `requires_grad` in place and return the tensor.

    Raises RuntimeError for integer dtypes, and for False on a tensor that an op has made.
    """
    set_requires_grad(self, requires_grad, "only")
    return self


@public(methods="register_hook")
def register_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> RemovableHandle:
    """Call `hook(grad)` when a gradient of this tensor is complete; what it returns replaces it.

    Hooks run in the order of registration, each seeing what the one before returned. A hook must
    not write to its argument. Returns a handle whose `remove()` takes the hook off. Raises
    RuntimeError where no gradient is wanted.

    >>> x = rg.ones(2, requires_grad=True)
    >>> handle = x.register_hook(lambda g: g * 10)
    >>> x.sum().backward(); x.grad
    tensor([10., 10.])
    """
    if self._node is None:
        raise RuntimeError(NO_GRADIENT)
    return hooks_of(node_of(self)).cotangent.add(hook)


@public(methods="register_post_accumulate_grad_hook")
def register_post_accumulate_grad_hook(
    self: Tensor, hook: Callable[[Tensor], None]
) -> RemovableHandle:
    """Call `hook(tensor)` whenever a backward pass has added to the `.grad` of this leaf.

    Raises RuntimeError for a tensor that is no leaf, or where no gradient is wanted.

    >>> x = rg.ones(2, requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda t: print(t.grad))
    >>> x.sum().backward()
    tensor([1., 1.])
    """
    if self._node is None:
        raise RuntimeError(NO_GRADIENT)
    if self._node.op is not LEAF:
        raise RuntimeError(
            "post accumulate grad hooks cannot be registered on non-leaf tensors. Use "
            "register_hook there."
        )
    return hooks_of(self._node).accumulated.add(hook)


@public(methods="retain_grad")
def retain_grad(self: Tensor) -> None:
    """Let backward passes fill `.grad` of this tensor though it is no leaf; of a leaf, no change.

    The gradient is the one that the last tensor hook returned. Raises RuntimeError where no
    gradient is wanted.

    >>> x = rg.ones(2, requires_grad=True)
    >>> y = x * 3
    >>> y.retain_grad(); y.sum().backward(); y.grad
    tensor([1., 1.])
    """
    if self._node is None:
        raise RuntimeError(
            "can't retain_grad on Tensor that has requires_grad=False. Ask for a gradient first: "
            "x.requires_grad_()"
        )
    if self._node.op is not LEAF and not retains_grad(self):
        hooks_of(node_of(self)).retained.append(weakref.ref(self))


def retains_grad(self: Tensor) -> bool:
    """Whether `retain_grad` was called on this tensor, which is no leaf."""
    hooks = None if self._node is None else self._node.hooks
    return hooks is not None and any(ref() is self for ref in hooks.retained)


def _grad_dtype(self: Tensor) -> dtypes.dtype | None:
    """The dtype that the `.grad` of this leaf has or gets, None where it may have each.

    It is the tensor's own unless set. What arrives in a backward pass is cast to it.

    >>> x = rg.ones(2, dtype=rg.float16, requires_grad=True)
    >>> x.grad_dtype = rg.float32
    >>> (x * 2).sum().backward(); x.grad.dtype
    retrograd.float32
    """
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors. This one is computed")
    own = self._grad_dtype
    return self.dtype if own is None else None if own is ANY else own


def _set_grad_dtype(self: Tensor, dtype: Any) -> None:
    """Let the `.grad` of a leaf have another dtype than the leaf; None lets it have each."""
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be set on leaf tensors. This one is computed")
    if not (dtype is None or isinstance(dtype, dtypes.dtype)):
        raise RuntimeError(
            f"grad_dtype must be a dtype or None, but got {type(dtype).__name__}. For example: "
            "x.grad_dtype = retrograd.float64"
        )
    grad = self._gradient
    if grad is not None and dtype not in (None, grad.dtype):
        raise RuntimeError(
            f"Cannot set grad_dtype to {dtype}: there is already a gradient with dtype "
            f"{grad.dtype}. Clear it first: x.grad = None"
        )
    self._grad_dtype = ANY if dtype is None else dtype
    node = self._node or self._parked
    if node is not None:
        node.dtype = gradient_dtype(self)


def _hook_table(tensor: Tensor, kind: str) -> Any:
    node = tensor._parked if tensor._node is None else tensor._node
    hooks = None if node is None else node.hooks
    table = None if hooks is None else getattr(hooks, kind)
    return table if table is not None and table.used else None


def _set_hooks(self: Tensor, hooks: Mapping[int, Any] | None) -> None:
    node = node_of(self) or self._parked
    if node is None:  # they run once the tensor requires grad
        node = self._parked = leaf_node(self, self._array.shape, self._array.dtype)
    table = HookTable(hooks or {})
    table.used = hooks is not None
    hooks_of(node).cotangent = table


def _refuse(self: Tensor) -> None:
    raise RuntimeError("this attribute of a tensor cannot be deleted")


def _grad_fn(self: Tensor) -> Any:
    return self.grad_fn


def _nothing(self: Tensor) -> None:
    return None


def _volatile(self: Tensor) -> bool:
    text = "volatile was removed (Variable.volatile is always False)"
    warnings.warn(text, stacklevel=users_level())
    return False


method(property(retains_grad), "retains_grad")
method(property(_grad_dtype, _set_grad_dtype, _refuse), "grad_dtype")
method(
    property(lambda self: _hook_table(self, "cotangent"), _set_hooks, _refuse), "_backward_hooks"
)
method(property(lambda self: _hook_table(self, "accumulated")), "_post_accumulate_grad_hooks")
method(property(_grad_fn, None, _refuse), "_grad_fn")
method(property(_nothing), "name")
method(property(_volatile), "volatile")
