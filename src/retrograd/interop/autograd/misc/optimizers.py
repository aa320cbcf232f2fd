"""HIPS autograd's optimizers: functions that run a number of steps and give where they end.

All take `grad(x, i)`, the gradient at step `i`, a start `x`, an array or nested containers of them,
and `callback(x, i, g)`, called before each step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .flatten import flatten

__all__ = ["adam", "rmsprop", "sgd"]


def flat(grad: Any, x0: Any, callback: Any) -> tuple[Any, Any, Any]:
    """The start as a vector, what undoes that, and the flat gradient of a step."""
    x, unflatten = flatten(x0)

    def at(x: Any, i: int) -> Any:
        g = grad(unflatten(x), i)
        if callback:
            callback(unflatten(x), i, g)
        return flatten(g)[0]

    return x, unflatten, at


def sgd(
    grad: Callable[[Any, int], Any],
    x: Any,
    callback: Callable[..., Any] | None = None,
    num_iters: int = 200,
    step_size: float = 0.1,
    mass: float = 0.9,
) -> Any:
    """Descent with momentum: the velocity keeps `mass` of itself and gains the rest of -g.

    >>> from retrograd.interop.autograd.misc.optimizers import sgd
    >>> sgd(lambda x, i: 2.0 * x, np.array([1.0]), num_iters=1)
    array([0.98])
    """
    x, unflatten, gradient = flat(grad, x, callback)
    velocity = np.zeros(len(x))
    for i in range(num_iters):
        velocity = mass * velocity - (1.0 - mass) * gradient(x, i)
        x = x + step_size * velocity
    return unflatten(x)


def rmsprop(
    grad: Callable[[Any, int], Any],
    x: Any,
    callback: Callable[..., Any] | None = None,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:
    """Steps divided by the root of a running mean of squared gradients, which starts at one.

    >>> from retrograd.interop.autograd.misc.optimizers import rmsprop
    >>> rmsprop(lambda x, i: 1.0 + 0.0 * x, np.array([1.0]), num_iters=1).round(4)
    array([0.9])
    """
    x, unflatten, gradient = flat(grad, x, callback)
    square = np.ones(len(x))
    for i in range(num_iters):
        g = gradient(x, i)
        square = gamma * square + (1.0 - gamma) * g**2
        x = x - step_size * g / (np.sqrt(square) + eps)
    return unflatten(x)


def adam(
    grad: Callable[[Any, int], Any],
    x: Any,
    callback: Callable[..., Any] | None = None,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
) -> Any:
    """Adam (Kingma and Ba, 2015), with both running means corrected for their start at zero.

    >>> from retrograd.interop.autograd.misc.optimizers import adam
    >>> adam(lambda x, i: 2.0 * x, np.array([1.0]), num_iters=1).round(6)
    array([0.999])
    """
    x, unflatten, gradient = flat(grad, x, callback)
    mean, square = np.zeros(len(x)), np.zeros(len(x))
    for i in range(num_iters):
        g = gradient(x, i)
        mean = b1 * mean + (1.0 - b1) * g
        square = b2 * square + (1.0 - b2) * g**2
        corrected = np.sqrt(square / (1.0 - b2 ** (i + 1)))
        x = x - step_size * mean / (1.0 - b1 ** (i + 1)) / (corrected + eps)
    return unflatten(x)
