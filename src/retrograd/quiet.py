"""NumPy's floating-point errors: ignored where this package computes, and the user's elsewhere.

NOTE [Quiet]
1. PyTorch is silent about overflow, division by zero and NaN; so are ops, formulas, optimizers and
   whatever else computes on arrays here. What `np.seterr`, `-W error` or a test runner ask for is
   all one to them, and they change nothing of it: no filter of warnings is ever touched.
2. NumPy reads its state from a context variable. `token = quieten(QUIET)` sets it, `restore(token)`
   gives the user's back, in a tenth of the time that `np.errstate` takes; `quietly` does both. C
   enters a copy of the context `CALM`.
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

__all__ = ["CALM", "QUIET", "Quiet", "copyto", "quieten", "quietly", "restore"]

QUIET: Any
quieten: Callable[[Any], Any]
restore: Callable[[Any], Any]

try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj
except ImportError:  # a NumPy that keeps its state elsewhere
    QUIET = {"all": "ignore"}

    def quieten(state: Any) -> Any:
        """Let NumPy ignore floating-point errors; return what gives the user's state back."""
        token = np.errstate(**state)
        token.__enter__()
        return token

    def restore(token: Any) -> None:
        """Give the user's state back."""
        token.__exit__()
else:
    QUIET = _make_extobj(all="ignore")
    quieten, restore = _extobj_contextvar.set, _extobj_contextvar.reset


CALM = contextvars.Context()
CALM.run(partial(np.seterr, all="ignore"))


class Quiet:
    """A context within which NumPy ignores floating-point errors."""

    __slots__ = ("token",)

    def __enter__(self) -> Quiet:
        self.token = quieten(QUIET)
        return self

    def __exit__(self, *exc: object) -> None:
        restore(self.token)

    def aloud(self, function: Callable[[], Any]) -> Any:
        """Call a function of the user's, within this context, in the user's state."""
        restore(self.token)
        try:
            return function()
        finally:
            self.token = quieten(QUIET)


def quietly(function: F) -> F:
    """The function, which computes on arrays and calls no code of the user's, made quiet."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        token = quieten(QUIET)
        try:
            return function(*args, **kwargs)
        finally:
            restore(token)

    return call  # type: ignore[return-value]


copyto = quietly(np.copyto)  # with casting="unsafe", it may overflow
