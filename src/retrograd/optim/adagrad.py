"""`Adagrad`: steps scaled by the sum of all squared gradients so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.tensor import new_tensor
from ..kernels.allocation import full
from .optimizer import Optimizer
from .rules import (
    check_implementation,
    check_settings,
    constants,
    count_step,
    evaluate,
    first_step,
    passing,
    quiet_step,
    real_pieces,
    wrote_all,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Adagrad"]


class Adagrad(Optimizer):
    """Adagrad: `p <- p - lr' * g / (sqrt(s) + eps)` with the sum `s` of `g * g` so far.

    `lr' = lr / (1 + (step - 1) * lr_decay)`; `s` starts at `initial_accumulator_value`;
    `weight_decay` and `maximize` as for `SGD`. Real and imaginary parts of a complex parameter are
    separate numbers, as in PyTorch. State: "step", "sum". Raises ValueError for negative settings.
    Source: PyTorch's `optim.Adagrad`; Duchi et al., JMLR 2011.

    >>> import retrograd as rg
    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.Adagrad([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_settings(
            lr=lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        check_implementation(differentiable, foreach=foreach, fused=fused)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                start = group["initial_accumulator_value"]
                start = complex(start, start) if p._array.dtype.kind == "c" else start
                total = full(p._array, p._array.shape, start)
                self.state[p] = {"step": first_step(), "sum": new_tensor(total)}

    @quiet_step
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure`, if given, returns."""
        loss = evaluate(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p._gradient is None:
                    continue
                own = self.state[p]
                step = count_step(own)
                lr = float(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
                for part in real_pieces(p._array, p._gradient._array, own["sum"]._array):
                    _adagrad(*part, lr, group)
                wrote_all(p, own, "Adagrad.step")
        return loss


def _adagrad(x: Any, g: Any, total: Any, lr: float, group: dict[str, Any]) -> None:
    """The rule for one array, or block of one, of real numbers."""
    eps, decay = constants(x.dtype, group["eps"], group["weight_decay"])
    if group["maximize"]:
        g = -g
    if group["weight_decay"]:
        g = g + x * decay
    total += g * g
    x -= g / (np.sqrt(total) + eps) * passing(x.dtype, lr)[0]
