"""`Adamax`: Adam with the largest gradient so far in place of the mean square."""

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

__all__ = ["Adamax"]


class Adamax(Optimizer):
    """Adamax: `p <- p - lr * m' / u` with the average `m` of `g` and `u <- max(beta2 * u, |g|)`.

    `m'` is `m` freed of its start at zero; `eps` is added to `|g|`. `weight_decay` and `maximize`
    as for `SGD`. Real and imaginary parts of a complex parameter are separate numbers, as in
    PyTorch. State: "step", "exp_avg", "exp_inf". Raises ValueError for settings out of range.
    Source: PyTorch's `optim.Adamax`; Kingma and Ba, ICLR 2015.

    >>> import retrograd as rg
    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.Adamax([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[Any, ...] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
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
                    own.update(zeros_for(x, "exp_avg", "exp_inf"))
                size = float(group["lr"]) / (1 - group["betas"][0] ** count_step(own))
                averages = own["exp_avg"]._array, own["exp_inf"]._array
                for part in real_pieces(x, p._gradient._array, *averages):
                    _adamax(*part, size, group)
                wrote_all(p, own, "Adamax.step")
        return loss


def _adamax(x: Any, g: Any, m: Any, largest: Any, size: float, group: dict[str, Any]) -> None:
    """The rule for one array, or block of one, of real numbers."""
    beta1, beta2 = group["betas"]
    take, keep, eps = constants(x.dtype, 1 - beta1, beta2, group["eps"])
    if group["maximize"]:
        g = -g
    if group["weight_decay"]:
        g = g + x * constants(x.dtype, group["weight_decay"])[0]
    m += (g - m) * take
    largest *= keep
    np.maximum(largest, abs(g) + eps, out=largest)
    x -= m / largest * passing(x.dtype, size)[0]
