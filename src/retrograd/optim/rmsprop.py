"""`RMSprop`: steps scaled by a running average of the squared gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from .lists import on_lists
from .optimizer import ParamsT
from .rules import Rule, check_complex, check_settings, conj, settings

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(Rule):
    """RMSprop: `p <- p - lr * g / (sqrt(v) + eps)` with a running average `v` of `g * g`.

    `alpha` is the rate of the average; `centered` takes the square of the average gradient off `v`;
    `momentum`, `weight_decay`, `maximize` as for `SGD`. Real and imaginary parts of a complex
    parameter are separate numbers, as in PyTorch; with complex="modulus" it is one, and `v` the
    average of |g|^2. State: "step", "square_avg", "momentum_buffer", "grad_avg". Raises ValueError
    for negative settings, and for "modulus" beside `differentiable`. Source: PyTorch's
    `optim.RMSprop`.

    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.RMSprop([w], lr=0.01)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    arrays = ("square_avg",)
    lists = (
        ("square_avg", "square_avgs"),
        ("momentum_buffer", "momentum_buffer_list"),
        ("grad_avg", "grad_avgs"),
        ("step", "state_steps"),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        *,
        complex: str = "split",
    ) -> None:
        defaults = settings(locals(), "lr momentum alpha eps centered")
        check_complex(complex, differentiable)
        check_settings(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, defaults)

    def state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        """More of them with momentum, and where the mean is taken off."""
        wanted = {"momentum_buffer": group["momentum"] > 0, "grad_avg": group["centered"]}
        return (*self.arrays, *(name for name, is_wanted in wanted.items() if is_wanted))

    def numbers(self, group: dict[str, Any], step: float) -> tuple[Any, ...]:
        """The numbers of a step, which are the same in every step."""
        alpha = group["alpha"]
        return group["lr"], alpha, 1 - alpha, group["eps"], group["momentum"]

    @staticmethod
    def rule(x: Any, g: Any, state: list[Any], numbers: Any, group: dict[str, Any]) -> None:
        """See the class."""
        lr, keep, take, eps, momentum = numbers
        v, *others = state
        v *= keep
        v += g * take * conj(g, group)
        root = np.sqrt(v)
        if group["centered"]:
            mean = others[-1]
            mean += (g - mean) * take
            size = abs(mean)  # v - mean^2, as a product: both may overflow where none of this does
            root = np.sqrt((root - size) * (root + size))
        step = g / (root + eps)
        if len(others) > group["centered"]:  # not by the momentum, which may change with each step
            b = others[0]
            b *= momentum
            b += step
            step = b
        x -= step * lr


rmsprop = on_lists(
    RMSprop,
    lambda params, grads, square_avgs, grad_avgs, momentum_buffer_list, state_steps, foreach=None,
    maximize=False, differentiable=False, capturable=False, has_complex=False, *, lr, alpha, eps,
    weight_decay, momentum, centered: locals(),
)  # fmt: skip
