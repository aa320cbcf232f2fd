"""What SciPy's functions become here: elementwise ones with derivatives, and written-out ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ..boxes import isbox
from ..extend import defjvp, defvjp, primitive

__all__ = ["elementwise", "instead_of"]


def summed(g: Any, like: Any) -> Any:
    """A gradient summed over the dimensions along which `like` was broadcast."""
    shape = np.shape(like)
    extra = np.ndim(g) - len(shape)
    g = np.sum(g, axis=tuple(range(extra))) if extra > 0 else g
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and np.shape(g)[i] != 1)
    return np.sum(g, axis=axes, keepdims=True) if axes else g


def elementwise(fun: Any, *derivatives: Callable[..., Any] | None) -> Callable[..., Any]:
    """SciPy's elementwise function of real numbers as a primitive; arguments broadcast.

    Each derivative is a function derivative(ans, *args) of arrays, None where there is none.
    """

    def backward(argnum: int, derivative: Callable[..., Any]) -> Callable[..., Any]:
        return lambda ans, *args: lambda g: summed(g * derivative(ans, *args), args[argnum])

    def ahead(derivative: Callable[..., Any]) -> Callable[..., Any]:
        return lambda g, ans, *args: g * derivative(ans, *args)

    wrapped = primitive(fun)
    known = [(number, each) for number, each in enumerate(derivatives) if each is not None]
    numbers = [number for number, _ in known]
    defvjp(wrapped, *(backward(*each) for each in known), argnums=numbers)
    defjvp(wrapped, *(ahead(derivative) for _, derivative in known), argnums=numbers)
    return wrapped


def instead_of(fun: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: on plain arrays the function is SciPy's `fun`, on boxes the decorated one."""

    def decorate(ours: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(ours)
        def call(*args: Any, **options: Any) -> Any:
            recorded = any(map(isbox, (*args, *options.values())))
            return (ours if recorded else fun)(*args, **options)

        return call

    return decorate
