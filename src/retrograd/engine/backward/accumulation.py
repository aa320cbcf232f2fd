"""Leaves: a complete cotangent is added to `.grad`, under the leaf's own lock.

NOTE [Layout of gradients] As in PyTorch, a gradient lies in memory as its leaf does, if that is
dense: optimizers then go through both in one order. That of any other tensor, a leaf or one with
`retain_grad()`, is in row-major order.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ... import dtypes
from ...kernels.allocation import copied, has_memory, has_values
from ...kernels.memory import overlaps
from ...locks import ONE_AT_A_TIME
from ...quiet import quietly
from .. import native
from ..graph import AccumulateGrad
from ..tensor import (
    Tensor,
    as_array,
    cell_of,
    new_tensor,
    tensor_of,
    wrote,
)
from ..writable import about_to_write

ndarray, add = np.ndarray, np.add

LEAF_CHANGED = (
    "Function AccumulateGrad was given an invalid gradient at index 0 - got {} but expected "
    "shape compatible with {}. The leaf, or its .grad, was changed after the forward pass: "
    "by an assignment to .data, or in place under no_grad(). Change it before the forward pass, "
    "and set x.grad = None where its shape changes"
)
OTHER_DEVICE = (
    "Function AccumulateGrad was given an invalid gradient at index 0 - expected device {} but got "
    "{}. A backward of your own gives gradients on the device of the inputs"
)
INTERIOR = (
    "leaf variable has been moved into the graph interior: {} wrote it in place, with a history, "
    "after requires_grad was turned off, so it has no .grad for what was computed before. Write to "
    "a copy, x = x.clone()"
)


def fit_leaf(leaf: Tensor, g: Any, dtype: Any) -> Any:
    """The cotangent `g`, an array or a tensor, as it may be added to the leaf's `.grad`.

    By the graph it fits already, unless the leaf itself has changed since: by an assignment to
    `.data`, or by `t_()` and the like under no_grad. `dtype` is that of the leaf's node; another
    one is cast, as for any edge. Raises RuntimeError for another shape, and for a `.grad` that
    cannot be added to.
    """
    found, before = g._array if isinstance(g, Tensor) else g, leaf._gradient
    if has_values(found) is not has_values(leaf._array):
        raise RuntimeError(OTHER_DEVICE.format(leaf.device, tensor_of(found).device))
    for each in (leaf, before):
        if each is not None and found.shape != each._array.shape:
            raise RuntimeError(LEAF_CHANGED.format(list(found.shape), list(each.shape)))
    if before is not None and before._array.dtype.kind != "c" == dtype.kind:
        raise RuntimeError(LEAF_CHANGED.format(dtypes.of_numpy(dtype), before.dtype))
    if found.dtype == dtype:
        return g
    if found.dtype.kind == "c" and dtype.kind != "c":
        g, found = g.real, found.real
    return g.to(dtypes.of_numpy(dtype)) if isinstance(g, Tensor) else found.astype(dtype)


def add_grad(tensor: Tensor, g: Tensor, dtype: Any, lock: Any) -> None:
    """Add `g` to the tensor's `.grad`, which keeps no memory of `g`: it may be written later.

    The sum is an op, which code of the user's may watch: `lock` is not held meanwhile, and if
    another thread has replaced or written the gradient since, the sum is made again.
    """
    g = fit_leaf(tensor, g, dtype)
    while True:
        before: Any = tensor._gradient
        version = None if before is None else cell_of(before).version
        total = fresh(tensor, g) if before is None else before + g
        with lock:
            seen = None if before is None else before._cell.version
            if tensor._gradient is before and seen == version:
                tensor._gradient = total
                return


def fresh(tensor: Tensor, g: Tensor) -> Tensor:
    """A copy of a cotangent that may be needed as it is: NOTE [Layout of gradients]."""
    array = g._array
    if not (has_memory(array) or g.requires_grad):
        return g.detach()  # it is never written
    if not tensor.is_leaf:
        scattered = array.__class__ is ndarray and not array.flags.c_contiguous
        return g.contiguous() if scattered else g.clone()
    if laid_out(tensor._array, array) is array:
        return g.clone()
    return new_tensor(laid_out(tensor._array, array)).copy_(g)


def own(leaf: Tensor, g: Any, borrowed: bool) -> Any:
    """A cotangent as the leaf's gradient: NOTE [Layout of gradients]; a copy if it is borrowed."""
    found = laid_out(leaf._array, g)
    return own_array(g, borrowed) if found is g else found


def own_array(g: Any, borrowed: bool) -> Any:
    """A cotangent that may be written: a copy where somebody else holds it too."""
    if not has_memory(g):  # it is never written
        return g
    plain = g.__class__ is ndarray and g.base is None  # a formula may give a NumPy scalar
    return g if plain and not borrowed else copied(g)


def laid_out(like: Any, g: Any) -> Any:
    """The array `g` itself where it lies in memory as it is to, or a copy that does."""
    if not (like.__class__ is g.__class__ is ndarray):
        return g
    if like.flags.c_contiguous and g.flags.c_contiguous:
        return g
    made = np.empty_like(like, g.dtype)
    if steps(made) != steps(like):
        made = np.empty(like.shape, g.dtype)
    if steps(made) == steps(g):
        return g
    made[...] = g
    return made


def steps(array: Any) -> list[int]:
    """The strides, in elements, of the dimensions that have more than one element."""
    size = array.itemsize
    return [step // size for step, n in zip(array.strides, array.shape, strict=True) if n > 1]


def holders(array: Any) -> int:
    """How many references there are to an array that its caller holds."""
    return sys.getrefcount(array)


def _least() -> int:
    lone = np.empty(0)
    return holders(lone)


# What `holders` says of an array that nobody else holds; where that says nothing, it never does.
ALONE = _least() if ONE_AT_A_TIME else 0


def check_current(node: Any) -> None:
    """Raise at the former node of a leaf that has got another shape since: `graph.renewed`."""
    leaf = node.saved.tensor()
    if leaf is not None and leaf._node is not None:
        raise RuntimeError(LEAF_CHANGED.format(list(node.shape), list(leaf.shape)))


def is_current(node: Any, leaf: Tensor) -> bool:
    """Whether a node accumulates for its leaf: it is the leaf's, or was before another dtype."""
    now = leaf._node
    return now is node or (now is not None and now.saved is node.saved)


def check_interior(leaf: Tensor) -> None:
    """Raise for a leaf that has become the result of an op since; another's gradient is dropped."""
    if leaf._node is not None and not isinstance(leaf._node, AccumulateGrad):
        raise RuntimeError(INTERIOR.format(leaf._node.name()))


def check_leaves(leaves: Any) -> None:
    """`check_current`, before any sum is made, of the nodes that have an edge."""
    for node in leaves:
        if node.edges:
            check_current(node)


def accumulate(node: Any, g: Any, borrowed: bool, create_graph: bool) -> None:
    """Add a complete cotangent to the leaf's `.grad`."""
    if not create_graph:
        add_to_leaf(node, g, borrowed)
        return
    leaf = node.saved.tensor()
    if leaf is None:
        return
    if is_current(node, leaf):
        add_grad(leaf, g, node.dtype, node.saved.lock)
    else:
        check_interior(leaf)


def added_in_place(array: Any, g: Any) -> bool:
    """Add `g` in place and say whether that went: read-only and overlapping memory cannot."""
    if array.__class__ is ndarray and not array.flags.forc and overlaps(array):
        return False
    try:
        add(array, g, array)
    except ValueError:  # the user's own .grad, read-only
        return False
    return True


def sum_apart(leaf: Any, g: Any) -> Tensor:
    """The leaf's `.grad` plus `g` in a new tensor, where `added_in_place` could not add.

    Where arrays are replaced when they are written, the tensor that is there gets the sum's.
    """
    before = leaf._gradient
    total = as_array(before._array + fit_leaf(leaf, g, g.dtype))
    kept = not (has_memory(total) or total.is_batched)  # a batch has a history of its own
    if not kept or total.__class__ is not before._array.__class__:
        return tensor_of(total)
    before._array = total
    total.after_store(before)
    wrote(before, "backward()")
    return before  # type: ignore[no-any-return]


@native.in_c
@quietly
def add_to_leaf(node: Any, g: Any, borrowed: bool) -> None:
    """Add a complete cotangent, an array, to the leaf's `.grad`, under the leaf's own lock."""
    leaf = node.saved.tensor()
    if leaf is None:
        return
    if not is_current(node, leaf):
        check_interior(leaf)
        return
    like = leaf._array
    if g.shape != like.shape or g.dtype is not node.dtype or g.__class__ is not like.__class__:
        g = fit_leaf(leaf, g, node.dtype)
    lock = node.saved.lock
    lock.acquire()  # twice as fast as `with`
    try:
        before = leaf._gradient
        if before is None:
            leaf._gradient = tensor_of(own(leaf, g, borrowed))
        else:
            array = before._array
            if before._inference:
                about_to_write(before)
            if added_in_place(array, g):
                wrote(before, "backward()")
            else:
                leaf._gradient = sum_apart(leaf, g)
    finally:
        lock.release()
