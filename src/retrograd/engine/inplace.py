"""Writing in place: every `name_` form, derived from the out-of-place function.

NOTE [In-place = out-of-place + write + splice]
`v.mul_(w)` is, in this order:
1. the rules are checked; nothing has changed yet if one is broken;
2. the ordinary function runs on `old`, a stand-in with v's values, history and version;
3. if a node saved `old`, it gets a copy of the values, since they are about to be overwritten; an
   operand that shares v's memory is copied beforehand for the same reason;
4. the result is written into v's memory, and the version cell counts the write;
5. v takes over the result's history. If v is a view, its base does: one `splice` node says "the old
   base with this region replaced", and every live view of the base is replayed from the new base.

There is no special node class and no second derivative formula for any in-place form.
"""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import modes
from .dispatch import check_cast
from .graph import LEAF, tick
from .hooks import hooks_of
from .op import OPS
from .record import make_node
from .tensor import Tensor, alias, cell_of, new_tensor

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["check_writable", "in_place", "rebase", "write"]

LEAF_WRITTEN = (
    "a leaf Variable that requires grad is being used in an in-place operation. {name}() would "
    "overwrite the value whose gradient is wanted. Write out of place (y = x.{plain}(...)), or, "
    "to change the leaf itself: with retrograd.no_grad(): x.{name}(...)"
)
VIEW_OF_LEAF_WRITTEN = (
    "a view of a leaf Variable that requires grad is being used in an in-place operation. "
    "{name}() would overwrite part of the leaf. Work on a copy (x = leaf.clone()), or, to change "
    "the leaf itself: with retrograd.no_grad(): view.{name}(...){trace}"
)
MULTI = (
    "Output {index} of {node} is a view and is being modified inplace. This view is the output of "
    "a function that returns multiple views. Such functions do not allow the output views to be "
    "modified inplace. You should replace the inplace operation by an out-of-place one: "
    "y = view.{plain}(...){trace}"
)
NO_GRAD = (
    "A view was created in {mode} mode and its base or another view of its base has been modified "
    "inplace with grad mode enabled. Given that this use case is ambiguous and error-prone, it is "
    "forbidden. You can clarify your code by moving both the view and the inplace either both "
    "inside the {mode} block (if you don't want the inplace to be tracked) or both outside (if you "
    "want the inplace to be tracked).{trace}"
)
CUSTOM = (
    "Output 0 of {node} is a view and is being modified inplace. This view was created inside a "
    "custom Function (or because an input was returned as-is) and the autograd logic to handle "
    "view+inplace would override the custom backward associated with the custom Function, leading "
    "to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of "
    "the custom Function: y = y.clone()"
)
INFERENCE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone "
    "to get a normal tensor before doing inplace update: x = x.clone()"
)
OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation: x = x.clone()"
)


def in_place(function: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """The `name_` form of a function whose first argument is the tensor to be written."""
    plain = function.__name__
    written = name or plain + "_"

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return write(self, written, function, args, kwargs)

    functools.update_wrapper(call, function, ("__annotations__", "__module__"))
    call.__name__ = call.__qualname__ = written
    call.__doc__ = f"In-place form of `{plain}`: writes the result into `self` and returns it."
    return call


def write(
    target: Tensor,
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Tensor:
    """Replace the value of `target` by `function(target, *args, **kwargs)`, history included."""
    if not isinstance(target, Tensor):
        raise TypeError(f"{name}(): the first argument must be a Tensor")
    recording = modes.state.grad and not modes.state.inference
    others = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)]
    tracked = recording and any(t.node is not None for t in (target, *others))
    check_writable(target, name, tracked, recording)
    if not tracked:
        result = function(target, *args, **kwargs)
        store(target, result, name)
        rebase(target, None, recording)
        return target
    old = alias(target, target.node)
    args = tuple(_apart(a, target, old) for a in args)
    kwargs = {key: _apart(a, target, old) for key, a in kwargs.items()}
    result = function(old, *args, **kwargs)
    check_store(target, result)
    was_saved = weakref.ref(old)
    del old, args, kwargs, others
    kept = was_saved()
    if kept is not None:
        kept.array = kept.array.copy()
        kept.cell = None
    store(target, result, name)
    node = result.node
    if node is not None:
        adopt(node, result.array, target)
    rebase(target, node, True)
    return target


def adopt(node: Any, written: Any, target: Tensor) -> None:
    """Let a node that saved its result save the target's memory instead, as of this write."""
    node.seq = tick()
    node.cell = target.cell
    if node.saved and written.dtype == target.array.dtype:
        node.saved = tuple([target.array if v is written else v for v in node.saved])


def _apart(operand: Any, target: Tensor, old: Tensor) -> Any:
    """An operand of an in-place write: `old` for the target, a copy if it shares its memory."""
    if operand is target:
        return old
    if isinstance(operand, Tensor) and operand.cell is not None and operand.cell is target.cell:
        copy = new_tensor(operand.array.copy())
        copy.node = operand.node
        return copy
    return operand


def check_writable(target: Tensor, name: str, tracked: bool, recording: bool) -> None:
    """Raise where PyTorch's rules forbid writing `target` in place."""
    if target.is_inference_tensor and not modes.state.inference:
        raise RuntimeError(INFERENCE)
    if not target.array.flags.writeable or 0 in target.array.strides and target.array.size > 1:
        overlapping = any(
            stride == 0 and size > 1
            for stride, size in zip(target.array.strides, target.array.shape, strict=True)
        )
        if overlapping or not target.array.flags.writeable:
            raise RuntimeError(OVERLAP)
    if not recording:
        return
    plain = name.rstrip("_")
    view = target.view_of
    if view is None:
        if target.node is not None and target.node.op is LEAF:
            raise RuntimeError(LEAF_WRITTEN.format(name=name, plain=plain))
        return
    trace = f"\nThe view was made at:\n{view.trace}" if view.trace else ""
    base = view.base
    if base.node is not None and base.node.op is LEAF:
        raise RuntimeError(VIEW_OF_LEAF_WRITTEN.format(name=name, trace=trace))
    if target.node is not None and target.node.op is LEAF:
        raise RuntimeError(LEAF_WRITTEN.format(name=name, plain=plain))
    if view.origin == "plain" or not tracked:
        return
    if view.origin in ("no_grad", "inference"):
        raise RuntimeError(NO_GRAD.format(mode=view.origin, trace=trace))
    maker = "a custom Function" if target.grad_fn is None else target.grad_fn.name()
    text = MULTI if view.origin == "multi" else CUSTOM
    raise RuntimeError(text.format(index=target.output_nr, node=maker, plain=plain, trace=trace))


def check_store(target: Tensor, result: Tensor) -> None:
    """Raise unless the result fits into the target's memory."""
    if result.array.shape != target.array.shape:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)}"
        )
    check_cast(result.array.dtype, target.array.dtype)


def store(target: Tensor, result: Tensor, name: str) -> None:
    """Write the result's values into the target's memory and count the write."""
    check_store(target, result)
    if result.array is not target.array:
        np.copyto(target.array, result.array, casting="unsafe")
    if not target.is_inference_tensor:
        cell_of(target).bump(name)


def rebase(target: Tensor, node: Any, recording: bool) -> None:
    """Give a written tensor its new history: NOTE [In-place = ...], step 5."""
    view = target.view_of
    if view is None:
        base = target
        if node is not None:
            _move_retained(target, node)
            target.node = node
        elif target.views is None:
            return
    else:
        base = view.base
        if recording and (node is not None or base.node is not None):
            region = new_tensor(target.array)
            region.node = node
            edges = (base.node, node)
            spliced = make_node(OPS["splice"], (base, region), edges, (), {"path": view.path})
            spliced.shape, spliced.dtype = base.array.shape, base.array.dtype
            spliced.cell = base.cell
            _move_retained(base, spliced)
            base.node = spliced
    if recording and base.views and base.node is not None:
        replay_views(base)


def _move_retained(target: Tensor, node: Any) -> None:
    """Let `retain_grad` follow a tensor to its new history."""
    before = target.node
    if before is None or before.hooks is None or not before.hooks.retained or before.op is LEAF:
        return
    from_hooks = before.hooks
    moved = [ref for ref in from_hooks.retained if ref() is target]
    if moved:
        from_hooks.retained[:] = [ref for ref in from_hooks.retained if ref() is not target]
        hooks_of(node).retained += moved


def replay_views(base: Tensor) -> None:
    """Derive the history of every live view from the base's present one."""
    start = new_tensor(base.array)
    start.node = base.node
    for ref in list(base.views or ()):
        view = ref()
        if view is None:
            continue
        replayed = start
        for op, params, output in view.view_of.path:
            replayed = op.call(replayed, **params)
            if output is not None:
                replayed = replayed[output]
        if view.node is not None and view.node is not base.node:
            _move_retained(view, replayed.node)
        view.node = replayed.node
        if replayed.node is not None and view.cell is not None:
            replayed.node.cell = view.cell
