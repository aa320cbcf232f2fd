"""`Adadelta`: steps scaled by the ratio of past steps to past gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .optimizer import Optimizer
from .rules import (
    check_implementation,
    check_settings,
    constants,
    count_step,
    evaluate,
    quiet_step,
    real_pieces,
    wrote_all,
    zeros_for,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Adadelta"]


class Adadelta(Optimizer):
    """Adadelta: `p <- p - lr * s`, `s = g * sqrt(u + eps) / sqrt(v + eps)`.

    `v` is a running average of `g * g`, `u` one of `s * s`, both of rate `rho`. `weight_decay` and
    `maximize` as for `SGD`. Real and imaginary parts of a complex parameter are separate numbers,
    as in PyTorch. State: "step", "square_avg", "acc_delta". Raises ValueError for settings out of
    range. Source: PyTorch's `optim.Adadelta`; Zeiler, 2012.

    >>> import retrograd as rg
    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.Adadelta([w], eps=1.0)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([-0.6903, -0.4807], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(lr=lr, rho=rho)
        if rho > 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_settings(eps=eps, weight_decay=weight_decay)
        check_implementation(differentiable)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
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
                    own.update(zeros_for(x, "square_avg", "acc_delta"))
                count_step(own)
                averages = own["square_avg"]._array, own["acc_delta"]._array
                for part in real_pieces(x, p._gradient._array, *averages):
                    _adadelta(*part, group)
                wrote_all(p, own, "Adadelta.step")
        return loss


def _adadelta(x: Any, g: Any, square: Any, steps: Any, group: dict[str, Any]) -> None:
    """The rule for one array, or block of one, of real numbers."""
    rho, eps, decay = group["rho"], group["eps"], group["weight_decay"]
    keep, take, eps, decay, lr = constants(x.dtype, rho, 1 - rho, eps, decay, group["lr"])
    if group["maximize"]:
        g = -g
    if group["weight_decay"]:
        g = g + x * decay
    square *= keep
    square += g * g * take
    step = np.sqrt(steps + eps) / np.sqrt(square + eps) * g
    steps *= keep
    steps += step * step * take
    x -= step * lr
