"""`ASGD`: gradient descent with a decaying rate, and the average of its path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import default_numpy
from ..engine.tensor import new_tensor
from .optimizer import Optimizer
from .rules import (
    check_implementation,
    check_settings,
    constants,
    count_step,
    evaluate,
    passing,
    pieces,
    quiet_step,
    wrote_all,
    zeros_for,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ASGD"]


class ASGD(Optimizer):
    """Averaged gradient descent: `p <- (1 - lambd * eta) * p - eta * g`; `ax` averages `p`.

    The rate of step t is `eta = lr / (1 + lambd * lr * t) ** alpha`. `ax` in the state is the last
    parameter up to step `t0`, and the average of all later ones from then on. `weight_decay` and
    `maximize` as for `SGD`. State: "step", "ax", "eta", "mu". Raises ValueError for negative
    settings. Source: PyTorch's `optim.ASGD`; Polyak and Juditsky, 1992.

    >>> import retrograd as rg
    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.ASGD([w], lr=0.1, lambd=0)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w, optimizer.state[w]["ax"]
    (tensor([0.8000, 1.6000], requires_grad=True), tensor([0.8000, 1.6000]))
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_settings(lr=lr, weight_decay=weight_decay)
        check_implementation(differentiable)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    @quiet_step
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure`, if given, returns."""
        loss = evaluate(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p._gradient is None:
                    continue
                x, own = p._array, self.state[p]
                if not own:
                    own.update(_start(x, float(group["lr"])))
                step, lr = count_step(own), float(group["lr"])
                eta, mu = own["eta"]._array, own["mu"]._array
                for part in pieces(x, p._gradient._array, own["ax"]._array):
                    _asgd(*part, eta.item(), mu.item(), group)
                eta.fill(lr / (1 + group["lambd"] * lr * step) ** group["alpha"])
                mu.fill(1 / max(1, step - group["t0"]))
                wrote_all(p, own, "ASGD.step")
        return loss


def _start(x: Any, lr: float) -> dict[str, Any]:
    eta, mu = (new_tensor(np.full((), value, default_numpy())) for value in (lr, 1.0))
    return {**zeros_for(x, "ax"), "eta": eta, "mu": mu}


def _asgd(x: Any, g: Any, average: Any, eta: float, mu: float, group: dict[str, Any]) -> None:
    """The rule for one array, or block of one; real and complex alike."""
    size, shrink, share = passing(x.dtype, eta, 1 - group["lambd"] * eta, mu)
    if group["maximize"]:
        g = -g
    if group["weight_decay"]:
        g = g + x * constants(x.dtype, group["weight_decay"])[0]
    x *= shrink
    x -= g * size
    if mu == 1:
        average[...] = x
    else:
        average += (x - average) * share
