"""`Adamax`: Adam with the largest gradient so far in place of the mean square."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from .lists import on_lists
from .optimizer import ParamsT
from .rules import Rule, check_betas, check_complex, check_settings, settings, spare

__all__ = ["Adamax", "adamax"]


class Adamax(Rule):
    """Adamax: `p <- p - lr * m' / u` with the average `m` of `g` and `u <- max(beta2 * u, |g|)`.

    `m'` is `m` freed of its start at zero; `eps` is added to `|g|`. `weight_decay` and `maximize`
    as for `SGD`, `complex` as for `Adam`. State: "step", "exp_avg", "exp_inf". Raises ValueError
    for settings out of range, and for "modulus" beside `differentiable`. Source: PyTorch's
    `optim.Adamax`; Kingma and Ba, ICLR 2015.

    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.Adamax([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    arrays = ("exp_avg", "exp_inf")
    one_dtype = True
    lists = (("exp_avg", "exp_avgs"), ("exp_inf", "exp_infs"), ("step", "state_steps"))

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[Any, ...] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
        complex: str = "split",
    ) -> None:
        defaults = settings(locals())
        check_complex(complex, differentiable)
        check_settings(lr=lr, eps=eps)
        check_betas(betas)
        check_settings(weight_decay=weight_decay)
        super().__init__(params, defaults)

    def numbers(self, group: dict[str, Any], step: float) -> tuple[Any, ...]:
        """The correction of `m` is folded into the step size."""
        beta1, beta2 = group["betas"]
        return 1 - beta1, beta2, group["eps"], group["lr"] / (1 - beta1**step)

    @staticmethod
    def rule(x: Any, g: Any, state: list[Any], numbers: Any, group: dict[str, Any]) -> None:
        """See the class."""
        take, keep, eps, size = numbers
        m, u = state
        m += (g - m) * take
        u *= keep
        u = state[1] = np.maximum(u, abs(g) + eps, out=spare(u))
        x -= m / u * size


adamax = on_lists(
    Adamax,
    lambda params, grads, exp_avgs, exp_infs, state_steps, foreach=None, maximize=False,
    differentiable=False, capturable=False, has_complex=False, *, eps, beta1, beta2, lr,
    weight_decay: locals(),
)  # fmt: skip
