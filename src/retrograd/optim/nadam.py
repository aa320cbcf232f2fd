"""`NAdam`: Adam with Nesterov's momentum."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from .lists import on_lists
from .optimizer import ParamsT
from .rules import Rule, check_betas, check_complex, check_settings, conj, scalar, settings

__all__ = ["NAdam", "nadam"]


class NAdam(Rule):
    """NAdam: `p <- p - lr * (a * g + b * m) / (sqrt(v') + eps)`: Adam that looks one step ahead.

    `m`, `v` are the averages of `g` and `g * g`, `v'` is freed of its start at zero. With the
    momentum of step t, `mu_t = beta1 * (1 - 0.96 ** (t * momentum_decay) / 2)`, and `P_t` the
    product of the first t of them, `a = (1 - mu_t) / (1 - P_t)` and
    `b = mu_(t+1) / (1 - P_(t+1))`. `weight_decay`, `decoupled_weight_decay`, `maximize` and
    `complex` as for `Adam`. State: "step", "exp_avg", "exp_avg_sq", "mu_product". Raises ValueError
    as `Adam`. Source: PyTorch's `optim.NAdam`; Dozat, ICLR 2016.

    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.NAdam([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([0.8944, 1.8944], requires_grad=True)
    """

    arrays = ("exp_avg", "exp_avg_sq")
    scalars = ("step", "mu_product")
    one_dtype = True
    lists = (
        ("exp_avg", "exp_avgs"),
        ("exp_avg_sq", "exp_avg_sqs"),
        ("mu_product", "mu_products"),
        ("step", "state_steps"),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[Any, ...] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        complex: str = "split",
    ) -> None:
        defaults = settings(
            locals(), "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize"
        )
        check_complex(complex, differentiable)
        check_settings(lr=lr, eps=eps)
        check_betas(betas)
        check_settings(weight_decay=weight_decay, momentum_decay=momentum_decay)
        super().__init__(params, defaults)

    def begin(self, x: Any, group: dict[str, Any]) -> dict[str, Tensor]:
        """The product of the momenta is in the state, too."""
        return {"step": scalar(0), "mu_product": scalar(1), **super().begin(x, group)}

    def advance(self, own: dict[str, Any], group: dict[str, Any]) -> tuple[float, Any]:
        """The number of the step, and the product of the momenta up to it."""
        step, product = super().advance(own, group), own["mu_product"]
        factor = momentum(step, group)
        if product.requires_grad or (isinstance(factor, Tensor) and group.get("differentiable")):
            own["mu_product"] = product = product * factor
            return step, product
        product._array *= float(factor)
        return step, product._array.item()

    def numbers(self, group: dict[str, Any], place: tuple[float, Any]) -> tuple[Any, ...]:
        """The rates of the averages, the step sizes along `g` and `m`, and what `v` misses."""
        (beta1, beta2), lr, (step, done) = group["betas"], group["lr"], place
        now, ahead = momentum(step, group), momentum(step + 1, group)
        along_g, along_m = lr * (1 - now) / (1 - done), lr * ahead / (1 - done * ahead)
        return 1 - beta1, beta2, 1 - beta2, group["eps"], along_g, along_m, 1 - beta2**step

    @staticmethod
    def rule(x: Any, g: Any, state: list[Any], numbers: Any, group: dict[str, Any]) -> None:
        """See the class."""
        take1, keep2, take2, eps, along_g, along_m, share = numbers
        m, v = state
        m += (g - m) * take1
        v *= keep2
        v += g * take2 * conj(g, group)
        x -= (g * along_g + m * along_m) / (np.sqrt(v / share) + eps)


def momentum(step: float, group: dict[str, Any]) -> Any:
    """The momentum `mu_t` of a step."""
    return group["betas"][0] * (1 - 0.5 * 0.96 ** (step * group["momentum_decay"]))


nadam = on_lists(
    NAdam,
    lambda params, grads, exp_avgs, exp_avg_sqs, mu_products, state_steps,
    decoupled_weight_decay=False, foreach=None, capturable=False, differentiable=False,
    has_complex=False, maximize=False, *, beta1, beta2, lr, weight_decay, momentum_decay, eps:
    locals(),
)  # fmt: skip
