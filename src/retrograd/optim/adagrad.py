"""`Adagrad`: steps scaled by the sum of all squared gradients so far."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from .lists import on_lists
from .optimizer import ParamsT
from .rules import Rule, check_complex, check_settings, conj, filled_like, scalar, settings

__all__ = ["Adagrad", "adagrad"]


class Adagrad(Rule):
    """Adagrad: `p <- p - lr' * g / (sqrt(s) + eps)` with the sum `s` of `g * g` so far.

    `lr' = lr / (1 + (step - 1) * lr_decay)`; `s` starts at `initial_accumulator_value`;
    `weight_decay` and `maximize` as for `SGD`, `complex` as for `Adam`. State: "step", "sum".
    Raises ValueError for negative settings, and for "modulus" beside `differentiable`. Source:
    PyTorch's `optim.Adagrad`; Duchi et al., JMLR 2011.

    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.Adagrad([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    arrays = ("sum",)
    lists = (("sum", "state_sums"), ("step", "state_steps"))

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        complex: str = "split",
    ) -> None:
        defaults = settings(locals(), "lr lr_decay eps")
        check_complex(complex, differentiable)
        check_settings(
            lr=lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p] = self.begin(p._array, group)

    def begin(self, x: Any, group: dict[str, Any]) -> dict[str, Tensor]:
        """The first state: a sum that begins at `initial_accumulator_value`."""
        return {"step": scalar(0), "sum": filled_like(x, group["initial_accumulator_value"], group)}

    def numbers(self, group: dict[str, Any], step: float) -> tuple[Any, ...]:
        """The decaying step size, and `eps`."""
        return group["lr"] / (1 + (step - 1) * group["lr_decay"]), group["eps"]

    def _init_group(self, group: Any, params: Any, grads: Any, *lists: Any) -> Any:
        """As for every rule; whether a gradient is sparse, and whether one is complex."""
        complex = super()._init_group(group, params, grads, *lists)
        return any(g.is_sparse for g in grads), complex

    def by_entry(self, group: dict[str, Any]) -> bool:
        """A gradient of 0 moves nothing, but for weight decay."""
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        return True

    @staticmethod
    def rule(x: Any, g: Any, state: list[Any], numbers: Any, group: dict[str, Any]) -> None:
        """See the class."""
        (size, eps), (total,) = numbers, state
        total += g * conj(g, group)
        x -= g / (np.sqrt(total) + eps) * size


adagrad = on_lists(
    Adagrad,
    lambda params, grads, state_sums, state_steps, fused=None, grad_scale=None, found_inf=None,
    has_sparse_grad=False, foreach=None, differentiable=False, has_complex=False, *, lr,
    weight_decay, lr_decay, eps, maximize: locals(),
)  # fmt: skip
