"""Leaves: a complete cotangent is added to `.grad`, under the leaf's own lock."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.allocation import copied
from ...quiet import quietly
from .. import native
from ..dispatch import about_to_write
from ..tensor import Tensor, as_array, cell_of, new_tensor, wrote

__all__ = ["accumulate", "add_grad", "add_to_leaf", "fit_leaf"]

ndarray, add = np.ndarray, np.add

LEAF_CHANGED = (
    "Function AccumulateGrad was given an invalid gradient at index 0 - got {} but expected "
    "shape compatible with {}. The leaf, or its .grad, was changed after the forward pass: "
    "by an assignment to .data, or in place under no_grad(). Change it before the forward pass, "
    "and set x.grad = None where its shape changes"
)


def fit_leaf(leaf: Tensor, g: Any) -> Any:
    """The cotangent `g`, an array or a tensor, as it may be added to the leaf's `.grad`.

    By the graph it fits already, unless the leaf itself has changed since: by an assignment to
    `.data`, or by `t_()` and the like under no_grad. Another dtype is cast, as for any edge. Raises
    RuntimeError for another shape, and for a `.grad` that cannot be added to.
    """
    found, before = g._array if isinstance(g, Tensor) else g, leaf._gradient
    for each in (leaf, before):
        if each is not None and found.shape != each._array.shape:
            raise RuntimeError(LEAF_CHANGED.format(list(found.shape), list(each.shape)))
    if before is not None and before.is_complex() is not leaf.is_complex():
        raise RuntimeError(LEAF_CHANGED.format(leaf.dtype, before.dtype))
    if found.dtype == leaf._array.dtype:
        return g
    if found.dtype.kind == "c" and not leaf.is_complex():
        g, found = g.real, found.real
    return g.to(leaf.dtype) if isinstance(g, Tensor) else found.astype(leaf._array.dtype)


def add_grad(tensor: Tensor, g: Tensor, lock: Any) -> None:
    """Add `g` to the tensor's `.grad`, which keeps no memory of `g`: it may be written later.

    The sum is an op, which code of the user's may watch: `lock` is not held meanwhile, and if
    another thread has replaced or written the gradient since, the sum is made again.
    """
    g = fit_leaf(tensor, g)
    while True:
        before: Any = tensor._gradient
        version = None if before is None else cell_of(before).version
        total = g.clone() if before is None else before + g  # who made `g` may need it as it is
        with lock:
            seen = None if before is None else before._cell.version
            if tensor._gradient is before and seen == version:
                tensor._gradient = total
                return


def accumulate(node: Any, g: Any, borrowed: bool, create_graph: bool) -> None:
    """Add a complete cotangent to the leaf's `.grad`."""
    if not create_graph:
        add_to_leaf(node, g, borrowed)
        return
    leaf = node.saved.tensor()
    if leaf is not None and leaf._node is node:
        add_grad(leaf, g, node.saved.lock)


@native.in_c
@quietly
def add_to_leaf(node: Any, g: Any, borrowed: bool) -> None:
    """Add a complete cotangent, an array, to the leaf's `.grad`, under the leaf's own lock."""
    leaf = node.saved.tensor()
    if leaf is None or leaf._node is not node:
        return
    if g.shape != leaf._array.shape or g.dtype is not leaf._array.dtype:
        g = fit_leaf(leaf, g)
    lock = node.saved.lock
    lock.acquire()  # twice as fast as `with`
    try:
        before = leaf._gradient
        if before is None:
            if borrowed or g.__class__ is not ndarray or g.base is not None:
                g = copied(g)  # a formula may give a NumPy scalar
            leaf._gradient = new_tensor(g)
        else:
            array = before._array
            if before._inference:
                about_to_write(before)
            try:
                add(array, g, array)
            except ValueError:  # the user's own .grad, read-only (an expanded view)
                leaf._gradient = new_tensor(as_array(before._array + fit_leaf(leaf, g)))
            else:
                wrote(before, "backward()")
    finally:
        lock.release()
