"""SciPy's `odeint` for programs that are differentiated; what is not here is SciPy's.

NOTE [The adjoint]
The gradient is the solution of another equation, integrated backward: with the state it carries the
cotangent of the state, a' = -a df/dy, and adds up those of the arguments, -a df/dargs. At each time
that was asked for, what is given there is added. Source: L. S. Pontryagin et al. (1962).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.integrate

from ..boxes import getval
from ..core import make_vjp
from ..extend import defvjp_argnums, primitive
from ..misc.flatten import flatten

__all__ = ["odeint"]


@primitive
def solution(func: Any, y0: Any, t: Any, func_args: Any, **options: Any) -> Any:
    """SciPy's solution, as a step of its own."""

    def slope(*given: Any) -> Any:  # a vjp within makes boxes, with no gradient of this step
        return getval(func(*given))

    return scipy.integrate.odeint(slope, y0, t, tuple(func_args), **options)


def odeint(func: Any, y0: Any, t: Any, args: Any = (), **options: Any) -> Any:
    """SciPy's `odeint`: states (T, N) at times `t` (T,), from `y0` (N,), of y' = func(y, t, *args).

    Differentiable in the state, the times and the arguments: NOTE [The adjoint].

    >>> from retrograd.interop.autograd import grad
    >>> from retrograd.interop.autograd.scipy.integrate import odeint
    >>> def last(rate):
    ...     return odeint(lambda y, t, r: -r * y, np.ones(1), np.array([0.0, 1.0]), (rate,))[-1, 0]
    >>> round(float(grad(last)(1.0)), 5)  # -exp(-1)
    -0.36788
    """
    return solution(func, y0, t, tuple(args), **options)


def backward(argnums: Any, ys: Any, given: Any, options: Any) -> Any:
    """The gradients of the state, the times and the arguments: NOTE [The adjoint]."""
    func, y0, t, func_args = given
    vector, unflatten = flatten(func_args)
    size, count = np.size(y0), np.size(vector)

    def flow(parts: Any) -> Any:
        y, time, flat = parts
        return func(y, time, *unflatten(flat))

    def augmented(state: Any, minus_t: Any, flat: Any) -> Any:
        y, a = state[:size], state[size : 2 * size]
        vjp, slope = make_vjp(flow, (y, -minus_t, flat))
        return np.concatenate([np.ravel(part) for part in (-slope, *vjp(a))])

    def gradients(g: Any) -> Any:
        a, rest = np.zeros(size), np.zeros(1 + count)
        times: list[Any] = []
        for i in range(len(t) - 1, 0, -1):
            a = a + g[i]
            at_end = np.dot(func(ys[i], t[i], *func_args), g[i])
            times.insert(0, at_end)
            rest = rest - np.concatenate([np.ravel(at_end), np.zeros(count)])
            state = np.concatenate([ys[i], a, rest])
            back = np.stack([-t[i], -t[i - 1]])
            state = solution(augmented, state, back, (vector,), **options)[1]
            a, rest = state[size : 2 * size], state[2 * size :]
        found = {1: a + g[0], 2: np.stack([rest[0], *times]), 3: unflatten(rest[1:])}
        return tuple(found[argnum] for argnum in argnums)

    return gradients


defvjp_argnums(solution, backward)


def __getattr__(name: str) -> Any:
    return getattr(scipy.integrate, name)
