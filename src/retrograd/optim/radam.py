"""`RAdam`: Adam that begins as momentum, until its mean squares are to be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .optimizer import Optimizer
from .rules import (
    check_betas,
    check_implementation,
    check_settings,
    constants,
    count_step,
    evaluate,
    passing,
    quiet_step,
    real_pieces,
    wrote_all,
    zeros_for,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RAdam"]


class RAdam(Optimizer):
    """RAdam: `p <- p - lr * r * m' / (sqrt(v) + eps)`, or `p - lr * m'` in the first few steps.

    `m`, `v` are the averages of `g` and `g * g`, `m'` is freed of its start at zero. The factor `r`
    corrects for the variance of `v`, which is finite once more than five steps count in it.
    `weight_decay`, `decoupled_weight_decay`, `maximize` and complex parameters as for `Adam`.
    State: "step", "exp_avg", "exp_avg_sq". Raises ValueError for settings out of range. Source:
    PyTorch's `optim.RAdam`; Liu et al., ICLR 2020.

    >>> import retrograd as rg
    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.RAdam([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, ...] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(lr=lr, eps=eps)
        betas = check_betas(betas)
        check_settings(weight_decay=weight_decay)
        check_implementation(differentiable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
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
                    own.update(zeros_for(x, "exp_avg", "exp_avg_sq"))
                sizes = _sizes(count_step(own), group)
                averages = own["exp_avg"]._array, own["exp_avg_sq"]._array
                for part in real_pieces(x, p._gradient._array, *averages):
                    _radam(*part, sizes, group)
                wrote_all(p, own, "RAdam.step")
        return loss


def _sizes(step: float, group: dict[str, Any]) -> tuple[float, float]:
    """The step size along `m`, and that along `m / sqrt(v)`; one of them is 0."""
    beta1, beta2 = group["betas"]
    size, corrected = float(group["lr"]) / (1 - beta1**step), 1 - beta2**step
    most = 2 / (1 - beta2) - 1
    count = most - 2 * step * beta2**step / corrected  # of the steps that count in v
    if count <= 5:
        return size, 0.0
    ratio = (count - 4) * (count - 2) * most / ((most - 4) * (most - 2) * count)
    return 0.0, float(size * (ratio * corrected) ** 0.5)


def _radam(x: Any, g: Any, m: Any, v: Any, sizes: Any, group: dict[str, Any]) -> None:
    """The rule for one array, or block of one, of real numbers."""
    beta1, beta2 = group["betas"]
    take1, keep2, take2, eps = constants(x.dtype, 1 - beta1, beta2, 1 - beta2, group["eps"])
    plain, scaled = passing(x.dtype, *sizes)
    if group["maximize"]:
        g = -g
    if group["weight_decay"]:
        if group["decoupled_weight_decay"]:
            x *= passing(x.dtype, 1 - float(group["lr"]) * group["weight_decay"])[0]
        else:
            g = g + x * constants(x.dtype, group["weight_decay"])[0]
    m += (g - m) * take1
    v *= keep2
    v += g * g * take2
    x -= m / (np.sqrt(v) + eps) * scaled if scaled else m * plain
