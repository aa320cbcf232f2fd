"""`LBFGS`: a quasi-Newton method that learns curvature from its last steps.

All parameters are one flat vector of real numbers, a complex one giving two per element. What the
method remembers lies in the state of the first parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from ..engine.tensor import Tensor, new_tensor, wrote
from ..quiet import calm
from .line_search import CURVATURE, DECREASE, NARROW, Point, answered, interpolated, strong_wolfe
from .optimizer import Optimizer, ParamsT
from .rules import check_complex, check_settings, check_writable, evaluate, settings

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """L-BFGS: `p <- p - t * H @ g`, `H` an inverse Hessian made of the last `history_size` steps.

    One `step(closure)` makes up to `max_iter` iterations and about `max_eval` evaluations; the
    closure clears the gradients, computes the loss, calls `backward` and returns the loss. `t` is
    `lr`, or with `line_search_fn="strong_wolfe"` what a search along the line finds. It ends when
    no element of the gradient exceeds `tolerance_grad`, or step or loss change by less than
    `tolerance_change`. There is one group only. Complex parameters are pairs of real numbers; with
    complex="modulus" their moduli are compared with the tolerances and set the length of the first
    step, so that turning parameters and data by a phase turns the path.

    State: that of PyTorch, at the first parameter. Raises ValueError for several groups, TypeError
    without a closure, RuntimeError for another line search. Source: PyTorch's `optim.LBFGS`;
    Nocedal and Wright, Numerical Optimization, 2006.

    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 3) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure), w.detach().round()
    (tensor(5., grad_fn=<SumBackward0>), tensor([3., 3.]))
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        *,
        complex: str = "split",
    ) -> None:
        defaults = settings(locals())
        check_complex(complex, False)
        check_settings(lr=lr)
        if max_eval is None:
            defaults["max_eval"] = max_iter * 5 // 4
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        """The parameters, of which the first has the state, by PyTorch's name."""
        return list(self.param_groups[0]["params"])

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Iterate until an end is met; returns the loss at the start."""
        if closure is None:
            raise TypeError(
                "LBFGS.step() missing 1 required positional argument: 'closure', a function that "
                "clears the gradients, computes the loss, calls backward() and returns the loss"
            )
        check_writable(self, "LBFGS.step", every=True)
        return answered(self._iterate(), lambda _: evaluate(closure), calm)

    def _iterate(self) -> Generator[None, Any, Any]:
        """All iterations of one step, quiet; what it yields for is what the closure returns."""
        group = self.param_groups[0]
        lr, most, tolerance = float(group["lr"]), group["max_iter"], group["tolerance_change"]
        own = self.state[group["params"][0]]
        own.setdefault("func_evals", 0)
        own.setdefault("n_iter", 0)
        first = yield
        loss, g, evaluations = number(first), self._gradient(), 1
        own["func_evals"] += 1
        if self._sizes(g).max(initial=0.0) <= group["tolerance_grad"]:
            return first
        for iteration in range(1, most + 1):
            own["n_iter"] += 1
            d = _direction(own, g, group["history_size"]).astype(g.dtype, copy=False)
            t = lr / max(1.0, float(self._sizes(g).sum())) if own["n_iter"] == 1 else lr
            before, slope = loss, g @ d
            own.update(d=new_tensor(d), t=t, prev_flat_grad=new_tensor(g), prev_loss=before)
            if slope > -tolerance:
                break
            if group["line_search_fn"] is not None:
                limit = max(group["max_eval"] - evaluations, 0)
                loss, g, t, count = yield from self._search(t, d, (loss, g, slope), limit)
                self._move(t, d)
            else:
                self._move(t, d)
                count = 0
                if iteration != most:  # after the last step nobody asks for the gradient
                    loss, g, count = number((yield)), self._gradient(), 1
            own["t"] = t
            own["func_evals"] += count
            evaluations += count
            small = self._sizes(g).max() <= group["tolerance_grad"]
            done = small or abs(loss - before) < tolerance
            if evaluations >= group["max_eval"] or done or self._sizes(d * t).max() <= tolerance:
                break
        return first

    def _search(
        self, t: float, d: Any, start: tuple[float, Any, Any], limit: int
    ) -> Generator[None, Any, tuple[float, Any, float, int]]:
        """Loss, gradient, step and number of evaluations of a search along `d`."""
        name = self.param_groups[0]["line_search_fn"]
        if name != "strong_wolfe":
            raise RuntimeError(f"only 'strong_wolfe' is supported, not {name!r}")
        params = self.param_groups[0]["params"]
        origin = [p._array.copy() for p in params]

        def at(step: float) -> Generator[None, Any, tuple[float, Any]]:
            self._move(step, d)
            found = number((yield)), self._gradient()
            for p, values in zip(params, origin, strict=True):
                p._array[...] = values
                wrote(p, "LBFGS.step")
            return found

        return (yield from strong_wolfe(at, t, d, start, limit))

    def _gradient(self) -> Any:
        """All gradients as one vector; zeros for a parameter that has none."""
        flat = []
        for p in self.param_groups[0]["params"]:
            grad = p._gradient
            if grad is not None and grad.is_sparse:
                grad = grad.to_dense()
            x = p._array if grad is None else grad._array
            line = np.ascontiguousarray(x).reshape(-1)
            line = line.view(line.real.dtype)
            flat.append(np.zeros_like(line) if grad is None else line)
        return np.concatenate(flat)

    def _sizes(self, vector: Any) -> Any:
        """The absolute values of the numbers in a vector: of pairs, where `complex` says so."""
        group, start, found = self.param_groups[0], 0, []
        if group.get("complex") != "modulus":
            return abs(vector)
        for p in group["params"]:
            pairs = p._array.dtype.kind == "c"
            stop = start + p._array.size * (1 + pairs)
            part = np.ascontiguousarray(vector[start:stop])
            found.append(np.hypot(part[::2], part[1::2]) if pairs else abs(part))
            start = stop
        return np.concatenate(found)

    def _move(self, t: float, d: Any) -> None:
        """Add `t * d` to the parameters."""
        start = 0
        for p in self.param_groups[0]["params"]:
            x = p._array
            stop = start + x.size * (2 if x.dtype.kind == "c" else 1)
            part = (d[start:stop] * t).astype(x.real.dtype, copy=False)
            x += part.view(x.dtype).reshape(x.shape)
            wrote(p, "LBFGS.step")
            start = stop


def number(loss: Any) -> float:
    """The number that a closure gives, of whose history nothing is asked."""
    return float(loss.detach() if isinstance(loss, Tensor) else loss)


def _direction(own: dict[str, Any], g: Any, size: int) -> Any:
    """The direction of the next step from the gradient `g`, once the last step is remembered."""
    if own["n_iter"] == 1:
        own.update(d=None, t=None, old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
        return -g
    changes, steps, inverse = own["old_dirs"], own["old_stps"], own["ro"]
    y = g - own["prev_flat_grad"]._array
    s = (own["d"]._array * float(own["t"])).astype(g.dtype, copy=False)  # not widened by the number
    curvature = y @ s
    if curvature > 1e-10:
        if len(changes) == size:
            for kept in (changes, steps, inverse):
                kept.pop(0)
        changes.append(new_tensor(y))
        steps.append(new_tensor(s))
        inverse.append(new_tensor(np.asarray(1.0 / curvature, g.dtype)))
        own["H_diag"] = new_tensor(np.asarray(curvature / (y @ y), g.dtype))
    q = -g
    weights = []
    memory = [
        (a._array, b._array, float(ro)) for a, b, ro in zip(changes, steps, inverse, strict=True)
    ]
    for y, s, ro in reversed(memory):
        weights.append(float(s @ q) * ro)
        q = q - y * weights[-1]
    q = q * float(own["H_diag"])
    for (y, s, ro), weight in zip(memory, reversed(weights), strict=True):
        q = q + s * (weight - float(y @ q) * ro)
    return q


def _strong_wolfe(
    obj_func: Callable[..., tuple[float, Tensor]],
    x: Any,
    t: float,
    d: Tensor,
    f: float,
    g: Tensor,
    gtd: Any,
    c1: float = DECREASE,
    c2: float = CURVATURE,
    tolerance_change: float = NARROW,
    max_ls: int = 25,
) -> tuple[float, Tensor, float, int]:
    """The search along a line, as minimizers of programs call it: loss, gradient, step and calls.

    `obj_func(x, step, d)` gives loss and gradient; f, g, gtd are those of step 0 and the slope.
    """

    def at(step: float) -> Generator[float, Any, Any]:
        return (yield step)

    search = strong_wolfe(at, t, d, (float(f), g, gtd), max_ls, c1, c2, tolerance_change)
    return answered(search, lambda step: obj_func(x, step, d))  # type: ignore[no-any-return]


def _cubic_interpolate(
    x1: Any,
    f1: Any,
    g1: Any,
    x2: Any,
    f2: Any,
    g2: Any,
    bounds: tuple[float, float] | None = None,
) -> float:
    """Where the cubic with values f and slopes g at x1 and x2 is least, within bounds.

    >>> rg.optim.lbfgs._cubic_interpolate(0.0, 1.0, -1.0, 1.0, 1.0, 1.0)
    0.5
    """
    a = Point(float(x1), float(f1), None, float(g1))
    return float(interpolated(a, Point(float(x2), float(f2), None, float(g2)), bounds))
