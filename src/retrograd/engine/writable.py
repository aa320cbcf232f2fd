"""Whether a tensor may be written in place: every rule, in the order in which PyTorch tells them.

NOTE [Who may be written] A write goes into the graph or does not: `is_tracked`. Before anything has
changed, `check_writable` asks:
1. of a write that goes into the graph, whether its history can be told. A leaf that requires grad
   is not written, nor is a view of one, nor a view that is not plain;
2. of any, whether this mode allows it: an inference tensor is written in inference mode alone. And
   whoever keeps what is overwritten is told;
3. of any, whether each element of the memory may be written, and with a value of its own.
Whether the result fits into the memory is asked once it is there: `check_store`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes, modes
from ..errors import CastError
from ..kernels.allocation import has_memory
from ..kernels.memory import overlaps
from ..version import named
from .graph import LEAF
from .graph import target as shown_target
from .record import STALE
from .saved import as_code, as_text, forward_name, out_of_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .tensor import Tensor

INFERENCE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone "
    "to get a normal tensor before doing inplace update: x = x.clone()"
)

OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation: x = x.clone()"
)
READ_ONLY = (
    "{name}: the written-to tensor of shape {shape} stands on read-only memory, as that of a NumPy "
    "array whose flags.writeable is False. Write to a copy: x = x.clone()"
)
LEAF_WRITTEN = (
    "a leaf Variable that requires grad is being used in an in-place operation. {write} would "
    "overwrite the value whose gradient is wanted. Write out of place "
    "(y = {instead}), or, to change the leaf itself: with retrograd.no_grad(): {write}"
)
VIEW_OF_LEAF_WRITTEN = (
    "a view of a leaf Variable that requires grad is being used in an in-place operation. "
    "{write} would overwrite part of the leaf. Work on a copy (leaf.clone()), or, to change "
    "the leaf itself: with retrograd.no_grad(): {write}{trace}"
)
REASONS = {
    "multi": (
        "This view is the output of a function that returns multiple views. Such functions do not "
        "allow the output views to be modified inplace. You should replace the inplace operation "
        "by an out-of-place one: y = {instead}"
    ),
    "custom": (
        "This view was created inside a custom Function (or because an input was returned as-is) "
        "and the autograd logic to handle view+inplace would override the custom backward "
        "associated with the custom Function, leading to incorrect gradients. This behavior is "
        "forbidden. You can fix this by cloning the output of the custom Function: y = y.clone()"
    ),
}
REASONS["resized"] = (
    "Its base was resized, or it shows all of the storage: each has elements that the other one "
    "has not, so no history fits both. Make the view anew before the write, or of a copy: x.clone()"
)
REASONS["no_grad"] = REASONS["inference"] = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the {block} block (if you "
    "don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
    " For example, make the view anew before the write: view = base[...]; {write}"
)
TRACE = "\nThe view was made at:\n{}"


def is_tracked(target: Tensor, others: Iterable[Tensor]) -> bool:
    """Whether a write to `target` that reads `others` goes into the graph.

    A view counts as its base does, so one that was made under no_grad is found out. Integers have
    no derivative, whatever is written to them.
    """
    if modes.special and not modes.state.records:
        return False
    if target._node is not None:
        return True
    if target._array.dtype.kind in "biu":
        return False
    for t in others:
        if t._node is not None:
            return True
    return target._view_of is not None and target._view_of.base._node is not None


def must_run(target: Tensor, others: Sequence[Tensor]) -> bool:
    """Whether a write that reads `others` has to run its op.

    That is so for the graph, and for tangents, batches and whatever else is no memory. If not,
    values may go straight into the memory of `target`.
    """
    memory = all(has_memory(t._array) for t in (target, *others))
    return not memory or modes.transforming() or is_tracked(target, others)


def check_writable(target: Tensor, name: str, tracked: bool = False, uniform: bool = False) -> None:
    """Raise where PyTorch's rules forbid writing `target` in place: NOTE [Who may be written].

    `tracked` says whether the write goes into the graph, `uniform` that all elements get the same
    value, so that they may share memory.
    """
    view = target._view_of is not None
    if tracked and not view:
        check_tracked(target, name)
    if modes.special or modes.inference_seen:
        about_to_write(target)
    if tracked and view:
        check_tracked(target, name)
    check_memory(target._array, name, uniform)


def check_tracked(target: Tensor, name: str) -> None:
    """The rules for a write that goes into the graph: no leaf, no view that is not plain."""
    view = target._view_of
    if view is not None:
        if view.origin != "plain":
            raise RuntimeError(refusal(target, "is being", name))
        if view.base.is_leaf and (view.base._node is not None or target._node is not None):
            trace = TRACE.format(view.trace) if view.trace else ""
            text = named(VIEW_OF_LEAF_WRITTEN)
            raise RuntimeError(text.format(write=as_code(name, "x"), trace=trace))
    if target._node is not None and target._node.op is LEAF:
        write, instead = as_code(name, "x"), elsewhere(name, "x")
        raise RuntimeError(named(LEAF_WRITTEN).format(write=write, instead=instead))


def elsewhere(name: str, x: str) -> str:
    """Code for `y`, which becomes what the write called `name` would make of the tensor `x`."""
    return out_of_place(name, x) or f"{x}.clone(); {as_code(name, 'y')}"


def refusal(target: Tensor, what: str, name: str = "mul_") -> str:
    """Why a view that is not plain must not meet a recorded in-place write, as PyTorch says it."""
    view = target._view_of
    assert view is not None
    node = target._node
    maker = None if node is None or node.op is LEAF or node.op is STALE else shown_target(node)
    start = "" if maker is None else f"Output {maker[1]} of {forward_name(maker[0])} is a view"
    if view.origin in ("no_grad", "inference") or (maker is None and view.origin != "resized"):
        inference = view.origin == "inference"
        made = "inference" if inference else "no_grad"
        written = "in normal mode" if inference else "with grad mode enabled"
        start = f"{start} of a view which was" if start else "A view was"
        start = f"{start} created in {made} mode and {what} modified inplace {written}."
    else:
        start = f"{start or 'This is a view'} and {what} modified inplace."
    block = "inference_mode" if view.origin == "inference" else "no_grad"
    write, instead = as_code(name, "view"), elsewhere(name, "view")
    reason = REASONS[view.origin].format(block=block, write=write, instead=instead)
    return f"{start} {reason}{TRACE.format(view.trace) if view.trace else ''}"


def about_to_write(target: Tensor) -> None:
    """Raise if `target` must not be written in this mode; tell whoever keeps what it held."""
    if target._inference and not modes.state.inference:
        raise RuntimeError(INFERENCE)
    if modes.special and modes.state.before_write is not None:
        modes.state.before_write(target)


def check_memory(array: Any, name: str, uniform: bool = False) -> None:
    """Raise unless every element of `array` may be written, and with a value of its own.

    `uniform` says that all get the same value, so that several may be one.
    """
    if array.__class__ is np.ndarray and array.flags.carray:
        return
    if not has_memory(array):  # is replaced, not written
        return
    if not uniform and 0 in array.strides and array.size > 1 and expanded(array):
        raise RuntimeError(OVERLAP)
    if not getattr(array.flags, "writeable", True):  # of which CuPy's know nothing
        raise RuntimeError(READ_ONLY.format(name=as_text(name), shape=list(array.shape)))


def check_apart(target: Tensor, others: Sequence[Tensor], uniform: bool) -> None:
    """Raise for a recorded write to elements of which several are one: whose derivative counts?

    A constant may be written to all of them (`uniform`).
    """
    array = target._array
    if not has_memory(array) or array.flags.c_contiguous:
        return
    if not (uniform and all(t._node is None for t in others)) and overlaps(array):
        raise RuntimeError(OVERLAP)


def expanded(array: Any) -> bool:
    """Whether an array was expanded, so that several of its elements are one."""
    return any(
        stride == 0 and size > 1 for stride, size in zip(array.strides, array.shape, strict=True)
    )


def check_cast(source: np.dtype[Any], target: np.dtype[Any]) -> None:
    """Raise CastError unless a result of dtype `source` may be stored as `target`."""
    if dtypes.category(source) > dtypes.category(target):
        raise CastError(
            f"result type {dtypes.legacy_name(source)} can't be cast to the desired output type "
            f"{dtypes.legacy_name(target)}. Give what is written the result's dtype first: "
            f"x = x.to({dtypes.of_numpy(source)})"
        )


def check_store(target: Tensor, result: Tensor) -> None:
    """Raise unless the result fits into the target's memory."""
    if result._array.shape != target._array.shape:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)}"
        )
    if result._array.dtype is not target._array.dtype:
        check_cast(result._array.dtype, target._array.dtype)
