"""NumPy's floating-point errors: ignored where this package computes, and the user's elsewhere.

NOTE [Quiet]
1. PyTorch is silent about overflow, division by zero and NaN; so are ops, formulas, optimizers and
   whatever else computes on arrays here. What `np.seterr`, `-W error` or a test runner ask for is
   all one to them, and they change nothing of it: no filter of warnings is ever touched.
2. NumPy reads its state from a context variable. The package never sets the user's: it computes in
   a context of its own, a copy of `CALM`, for one is entered once at a time. It is entered and left
   in C. So no interrupt and no error, wherever it strikes, leaves the user without his state. The
   other variables of the user's context are not seen there.
3. Code of the user's (hooks, custom Functions, functions that are transformed) runs in the user's
   state. So who is quiet calls no such code: a backward pass is quiet while `traversal.advance`
   runs and while formulas do, not while it calls hooks.

This module knows nothing of tensors.
"""

from __future__ import annotations

import contextvars
import functools
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    F = TypeVar("F", bound="Callable[..., Any]")
    R = TypeVar("R")

__all__ = ["CALM", "calm", "copyto", "quietly"]

CALM = contextvars.Context()
CALM.run(partial(np.seterr, all="ignore"))


def calm(function: Callable[..., R], *args: Any, **kwargs: Any) -> R:
    """What the function, which calls no code of the user's, gives; NumPy is silent meanwhile."""
    return CALM.copy().run(function, *args, **kwargs)


def quietly(function: F) -> F:
    """The function, which computes on arrays and calls no code of the user's, made quiet."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return CALM.copy().run(function, *args, **kwargs)

    return call  # type: ignore[return-value]


copyto = quietly(np.copyto)  # with casting="unsafe", it may overflow
