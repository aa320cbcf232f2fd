"""`RAdam`: Adam that begins as momentum, until its mean squares are to be trusted."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from .lists import on_lists
from .optimizer import ParamsT
from .rules import Rule, check_betas, check_complex, check_settings, conj, settings

__all__ = ["RAdam", "radam"]


class RAdam(Rule):
    """RAdam: `p <- p - lr * r * m' / (sqrt(v) + eps)`, or `p - lr * m'` in the first few steps.

    `m`, `v` are the averages of `g` and `g * g`, `m'` is freed of its start at zero. The factor `r`
    corrects for the variance of `v`, which is finite once more than five steps count in it.
    `weight_decay`, `decoupled_weight_decay`, `maximize` and `complex` as for `Adam`. State: "step",
    "exp_avg", "exp_avg_sq". Raises ValueError as `Adam`. Source: PyTorch's `optim.RAdam`; Liu et
    al., ICLR 2020.

    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.RAdam([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    arrays = ("exp_avg", "exp_avg_sq")
    one_dtype = True
    lists = (("exp_avg", "exp_avgs"), ("exp_avg_sq", "exp_avg_sqs"), ("step", "state_steps"))

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[Any, ...] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        complex: str = "split",
    ) -> None:
        defaults = settings(locals(), "lr betas eps weight_decay maximize foreach capturable")
        check_complex(complex, differentiable)
        check_settings(lr=lr, eps=eps)
        check_betas(betas)
        check_settings(weight_decay=weight_decay)
        super().__init__(params, defaults)

    def numbers(self, group: dict[str, Any], step: float) -> tuple[Any, ...]:
        """The rates of the averages, and the step sizes along `m` and `m / sqrt(v)`: one is 0."""
        beta1, beta2 = group["betas"]
        size, corrected = group["lr"] / (1 - beta1**step), 1 - beta2**step
        most = 2 / (1 - beta2) - 1
        count = most - 2 * step * beta2**step / corrected  # of the steps that count in v
        plain, scaled = size, 0.0
        if count > 5:
            ratio = (count - 4) * (count - 2) * most / ((most - 4) * (most - 2) * count)
            plain, scaled = 0.0, size * (ratio * corrected) ** 0.5
        return 1 - beta1, beta2, 1 - beta2, group["eps"], plain, scaled

    @staticmethod
    def rule(x: Any, g: Any, state: list[Any], numbers: Any, group: dict[str, Any]) -> None:
        """See the class."""
        take1, keep2, take2, eps, plain, scaled = numbers
        m, v = state
        m += (g - m) * take1
        v *= keep2
        v += g * take2 * conj(g, group)
        x -= m / (np.sqrt(v) + eps) * scaled if scaled else m * plain


radam = on_lists(
    RAdam,
    lambda params, grads, exp_avgs, exp_avg_sqs, state_steps, decoupled_weight_decay=False,
    foreach=None, differentiable=False, capturable=False, has_complex=False, maximize=False, *,
    beta1, beta2, lr, weight_decay, eps: locals(),
)  # fmt: skip
