"""What an update of many tensors at once asks of each of them; most is timed, and in C as well.

This module knows no rule of an optimizer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.allocation import has_memory
from . import native
from .overriding import NEVER, is_asked
from .tensor import Tensor, wrote
from .writable import check_writable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Gathered = tuple[Tensor, Any, Any, Any]


def drop_gradients(tensors: Iterable[Tensor], set_to_none: bool) -> None:
    """Forget the gradients of tensors, or fill them with zeros and take their history away.

    A class that takes calls over may keep the gradient elsewhere: it is asked for `grad`.
    """
    for t in tensors:
        if set_to_none and t.__class__ in NEVER:
            if t._gradient is not None:
                t._gradient = None
            continue
        name = "grad" if is_asked(type(t)) else "_gradient"
        grad = getattr(t, name)
        if set_to_none or grad is None:
            if grad is not None:
                setattr(t, name, None)
            continue
        if grad._node is not None:
            grad.detach_()
        if not has_memory(grad._array):
            grad.zero_()
            continue
        check_writable(grad, "zero_grad", uniform=True)
        grad._array.fill(0)
        wrote(grad, "zero_grad")


@native.in_c
def all_plain(tensors: list[Tensor]) -> bool:
    """Whether the memory of all tensors in a list is plain: contiguous, and may be written."""
    return all(t._array.__class__ is np.ndarray and t._array.flags.carray for t in tensors)


@native.in_c
def gathered(
    params: list[Tensor], state: dict[Tensor, dict[str, Any]], names: tuple[str, ...]
) -> list[Gathered]:
    """What a step needs of each tensor that has a gradient: itself, its array and the gradient's.

    And the arrays of its own state under those of `names` that are there, in a list; None where
    there are names but no state yet.
    """
    found = []
    for p in params:
        grad = p._gradient
        if grad is not None:
            own = state.get(p, {})
            held = [own[name]._array for name in names if name in own] if own or not names else None
            found.append((p, p._array, grad._array, held))
    return found


@native.in_c
def counted(every: list[Gathered], state: dict[Tensor, dict[str, Any]]) -> list[float]:
    """Add one to the 0-d "step" in the state of each; what they are now."""
    found = []
    for p, *_ in every:
        array = state[p]["step"]._array
        np.add(array, 1, array)
        found.append(array.item())
    return found


@native.in_c
def are_small(every: list[Gathered], most: int) -> bool:
    """Whether no tensor has more than `most` elements, and all arrays one real dtype of NumPy's.

    Each has a state, if only an empty one.
    """
    if not every or any(state is None for *_, state in every):
        return False
    dtype = every[0][1].dtype
    return dtype.kind == "f" and all(
        array.__class__ is np.ndarray and array.dtype is dtype and x.size <= most
        for _, x, g, state in every
        for array in (x, g, *state)
    )


@native.in_c
def in_arrays(
    numbers: tuple[Any, ...], dtype: np.dtype[Any], other: Callable[..., Any]
) -> list[Any]:
    """Numbers as 0-d arrays of a dtype; what `other` makes of one that is none of Python's."""
    return [np.array(n, dtype) if n.__class__ in (float, int) else other(n, dtype) for n in numbers]


@native.in_c
def run_each(run: Callable[..., None], some: list[Gathered], *rest: Any) -> None:
    """Call `run(x, g, state, *rest)`, which writes `x` and `state` elementwise, for each of `some`.

    In C, arrays of one dtype are laid end to end, and `run` sees all of them as one: on few
    elements its calls of NumPy cost more than the arithmetic.
    """
    for _, x, g, state in some:
        run(x, g, state, *rest)


@native.in_c
def wrote_all(params: list[Tensor], state: dict[Tensor, dict[str, Any]], by: str) -> None:
    """Count a write to each of the tensors, and to the tensors of its own state."""
    for p in params:
        for each in (p, *state.get(p, {}).values()):
            if isinstance(each, Tensor):
                wrote(each, by)
