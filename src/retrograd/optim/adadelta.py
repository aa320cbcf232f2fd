"""`Adadelta`: steps scaled by the ratio of past steps to past gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from .lists import on_lists
from .optimizer import ParamsT
from .rules import Rule, check_complex, check_settings, conj, settings

__all__ = ["Adadelta", "adadelta"]


class Adadelta(Rule):
    """Adadelta: `p <- p - lr * s`, `s = g * sqrt(u + eps) / sqrt(v + eps)`.

    `v` is a running average of `g * g`, `u` one of `s * s`, both of rate `rho`. `weight_decay` and
    `maximize` as for `SGD`, `complex` as for `Adam`. State: "step", "square_avg", "acc_delta".
    Raises ValueError for settings out of range, and for "modulus" beside `differentiable`. Source:
    PyTorch's `optim.Adadelta`; Zeiler, 2012.

    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.Adadelta([w], eps=1.0)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([-0.6903, -0.4807], requires_grad=True)
    """

    arrays = ("square_avg", "acc_delta")
    lists = (("square_avg", "square_avgs"), ("acc_delta", "acc_deltas"), ("step", "state_steps"))

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
        complex: str = "split",
    ) -> None:
        defaults = settings(locals(), "lr rho eps weight_decay maximize capturable")
        check_complex(complex, differentiable)
        check_settings(lr=lr, rho=rho)
        if rho > 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_settings(eps=eps, weight_decay=weight_decay)
        super().__init__(params, defaults)

    def numbers(self, group: dict[str, Any], step: float) -> tuple[Any, ...]:
        """The numbers of a step, which are the same in every step."""
        return group["lr"], group["rho"], 1 - group["rho"], group["eps"]

    @staticmethod
    def rule(x: Any, g: Any, state: list[Any], numbers: Any, group: dict[str, Any]) -> None:
        """See the class."""
        lr, keep, take, eps = numbers
        v, u = state
        v *= keep
        v += g * take * conj(g, group)
        s = np.sqrt(u + eps) / np.sqrt(v + eps) * g
        u *= keep
        u += s * take * conj(s, group)
        x -= s * lr


adadelta = on_lists(
    Adadelta,
    lambda params, grads, square_avgs, acc_deltas, state_steps, capturable=False, foreach=None,
    differentiable=False, has_complex=False, *, lr, rho, eps, weight_decay, maximize: locals(),
)  # fmt: skip
