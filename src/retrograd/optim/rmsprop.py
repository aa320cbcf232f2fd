"""`RMSprop`: steps scaled by a running average of the squared gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.tensor import new_tensor
from ..kernels.allocation import zeros
from .optimizer import Optimizer
from .rules import (
    check_implementation,
    check_settings,
    constants,
    count_step,
    evaluate,
    first_step,
    quiet_step,
    real_pieces,
    wrote_all,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RMSprop"]


class RMSprop(Optimizer):
    """RMSprop: `p <- p - lr * g / (sqrt(v) + eps)` with a running average `v` of `g * g`.

    `alpha` is the rate of the average; `centered` takes the square of the average gradient off `v`;
    `momentum`, `weight_decay`, `maximize` as for `SGD`. Real and imaginary parts of a complex
    parameter are separate numbers, as in PyTorch. State: "step", "square_avg", "momentum_buffer",
    "grad_avg". Raises ValueError for negative settings. Source: PyTorch's `optim.RMSprop`.

    >>> import retrograd as rg
    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.RMSprop([w], lr=0.01)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        check_implementation(differentiable)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    @quiet_step
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure`, if given, returns."""
        loss = evaluate(closure)
        for group in self.param_groups:
            names = ["square_avg"]
            names += ["grad_avg"] if group["centered"] else []
            names += ["momentum_buffer"] if group["momentum"] > 0 else []
            for p in group["params"]:
                if p._gradient is None:
                    continue
                x, own = p._array, self.state[p]
                if not own:
                    own["step"] = first_step()
                    for name in names:
                        own[name] = new_tensor(zeros(x, x.shape))
                count_step(own)
                for part in real_pieces(
                    x, p._gradient._array, *[own[name]._array for name in names]
                ):
                    _rmsprop(part, group)
                wrote_all(p, own, "RMSprop.step")
        return loss


def _rmsprop(arrays: Any, group: dict[str, Any]) -> None:
    """The rule for one array, or block of one, of real numbers."""
    x, g, square, *others = arrays
    alpha, take, lr, eps, momentum, decay = constants(
        x.dtype,
        group["alpha"],
        1 - group["alpha"],
        group["lr"],
        group["eps"],
        group["momentum"],
        group["weight_decay"],
    )
    if group["maximize"]:
        g = -g
    if group["weight_decay"]:
        g = g + x * decay
    square *= alpha
    square += g * g * take
    scale = square
    if group["centered"]:
        average = others.pop(0)
        average += (g - average) * take
        scale = square - average * average
    step = g / (np.sqrt(scale) + eps)
    if group["momentum"] > 0:
        buffer = others[0]
        buffer *= momentum
        buffer += step
        step = buffer
    x -= step * lr
