"""`NAdam`: Adam with Nesterov's momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import default_numpy
from ..engine.tensor import Tensor, new_tensor
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

__all__ = ["NAdam"]


class NAdam(Optimizer):
    """NAdam: `p <- p - lr * (a * g + b * m) / (sqrt(v') + eps)`: Adam that looks one step ahead.

    `m`, `v` are the averages of `g` and `g * g`, `v'` is freed of its start at zero. With the
    momentum of step t, `mu_t = beta1 * (1 - 0.96 ** (t * momentum_decay) / 2)`, and `P_t` the
    product of the first t of them, `a = (1 - mu_t) / (1 - P_t)` and
    `b = mu_(t+1) / (1 - P_(t+1))`. `weight_decay`, `decoupled_weight_decay`, `maximize` and complex
    parameters as for `Adam`. State: "step", "exp_avg", "exp_avg_sq", "mu_product". Raises
    ValueError for settings out of range. Source: PyTorch's `optim.NAdam`; Dozat, ICLR 2016.

    >>> import retrograd as rg
    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.NAdam([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([0.8944, 1.8944], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
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
    ) -> None:
        check_settings(lr=lr, eps=eps)
        betas = check_betas(betas)
        check_settings(weight_decay=weight_decay, momentum_decay=momentum_decay)
        check_implementation(differentiable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
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
                    own.update({**zeros_for(x, "exp_avg", "exp_avg_sq"), "mu_product": _one()})
                sizes = _sizes(own, group)
                averages = own["exp_avg"]._array, own["exp_avg_sq"]._array
                for part in real_pieces(x, p._gradient._array, *averages):
                    _nadam(*part, sizes, group)
                wrote_all(p, own, "NAdam.step")
        return loss


def _one() -> Tensor:
    return new_tensor(np.ones((), default_numpy()))


def _sizes(own: dict[str, Any], group: dict[str, Any]) -> tuple[float, float, float]:
    """The step sizes along `g` and `m`, and what the mean square is divided by."""
    (beta1, beta2), lr = group["betas"], float(group["lr"])
    step, decay, product = count_step(own), group["momentum_decay"], own["mu_product"]._array
    now, ahead = (beta1 * (1 - 0.5 * 0.96 ** (t * decay)) for t in (step, step + 1))
    np.multiply(product, now, out=product)
    done = product.item()
    return lr * (1 - now) / (1 - done), lr * ahead / (1 - done * ahead), 1 - beta2**step


def _nadam(x: Any, g: Any, m: Any, v: Any, sizes: Any, group: dict[str, Any]) -> None:
    """The rule for one array, or block of one, of real numbers."""
    beta1, beta2 = group["betas"]
    take1, keep2, take2, eps = constants(x.dtype, 1 - beta1, beta2, 1 - beta2, group["eps"])
    along_g, along_m, share = passing(x.dtype, *sizes)
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
    x -= (g * along_g + m * along_m) / (np.sqrt(v / share) + eps)
