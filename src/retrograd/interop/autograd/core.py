"""HIPS autograd's names for what derivatives are made of; functions here take one argument.

`operators` has them for functions of many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .extend import *  # noqa: F403
from .extend import __all__ as _extend
from .tracing import Recording, finished, forward

__all__ = [*_extend, "make_jvp", "make_vjp"]  # noqa: PLE0604 (those are strings, too)


def make_vjp(fun: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """The pair (vjp, value) of a function of one argument at `x`.

    >>> from retrograd.interop.autograd.core import make_vjp
    >>> float(make_vjp(np.square, 3.0)[0](1.0))
    6.0
    """
    record = Recording(fun, x)
    return record.vjp, finished(record.answer)


def make_jvp(fun: Callable[[Any], Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """The function jvp of a function of one argument at `x`; jvp(v) is (value, derivative).

    >>> from retrograd.interop.autograd.core import make_jvp
    >>> float(make_jvp(np.square, 3.0)(1.0)[1])
    6.0
    """
    return lambda v: forward(fun, x, v)
