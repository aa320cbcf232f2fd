"""Fitting a contribution to its edge: the only place that undoes broadcasting and mixed arithmetic.

No formula mentions either; this module knows no op but `sum_to`, `real` and `cast`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import modes
from ...kernels.allocation import has_memory
from .. import saved
from ..namespaces import recorded
from ..tensor import Tensor, as_array, tensor_of

if TYPE_CHECKING:
    from ..graph import Node

ndarray = np.ndarray


def fit(c: Any, edge: Node, node: Node, xp: Any) -> Any:
    """A contribution as the edge wants it: broadcast axes summed, real part taken, dtype cast."""
    if c.__class__ is not ndarray and not isinstance(c, Tensor):
        c = as_array(c)  # it may be a NumPy scalar
        if not (has_memory(c) or node.op.formulas):
            c = c.as_cotangent(edge)
    shape, dtype = edge.shape, edge.dtype
    array = c if c.__class__ is ndarray else array_behind(c)
    if array.shape != shape:
        if not expands(shape, array.shape):
            index = node.edges.index(edge)
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient at index {index} - got "
                f"{list(array.shape)} but expected shape compatible with {list(shape)}. The "
                "gradient of an argument has its shape"
            )
        c = xp.sum_to(c, shape=shape)
        array = c if c.__class__ is ndarray else array_behind(c)
    found = array.dtype
    if found is not dtype and found != dtype:
        if found.kind == "c" and dtype.kind != "c":
            c = xp.real(c)
        c = xp.cast(c, dtype=dtype)
    return c


def array_behind(c: Any) -> Any:
    """The array of a tensor, or an array or a NumPy scalar itself."""
    return c._array if isinstance(c, Tensor) else c


def expands(small: tuple[int, ...], large: tuple[int, ...]) -> bool:
    """Whether an array of shape `small` broadcasts to shape `large`."""
    lead = len(large) - len(small)
    if lead < 0:
        return False
    if large[lead:] == small:
        return True
    return all(m in (1, n) for m, n in zip(reversed(small), reversed(large), strict=False))


def on_tensors(node: Any, g: Any, live: list[bool]) -> list[Any]:
    """What a node contributes whose arrays carry out ops: its formulas run on tensors.

    The arrays of that, fitted; None for an edge that is not `live`.
    """
    before = modes.swap("grad", False)
    try:
        given = tuple(map(tensor_of, g)) if isinstance(g, tuple) else tensor_of(g)
        found = node.op.derive(recorded, given, saved.tensors(node), live)
        return [
            None if c is None or e is None else fit(c, e, node, recorded)._array
            for e, c in zip(node.edges, found, strict=True)
        ]
    finally:
        modes.swap_back("grad", before)
