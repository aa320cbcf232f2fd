"""`AdamW`: Adam with the weight decay taken from the parameter, apart from the gradient."""

from __future__ import annotations

from typing import Any

from ..engine.tensor import Tensor
from .adam import Adam
from .lists import on_lists
from .optimizer import ParamsT
from .rules import settings

__all__ = ["AdamW", "adamw"]


class AdamW(Adam):
    """Adam with decoupled weight decay: `p <- p - lr * weight_decay * p` before Adam's step.

    Everything else is as for `Adam`. Source: PyTorch's `optim.AdamW`; Loshchilov and Hutter, ICLR
    2019.

    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.AdamW([w], lr=0.1, weight_decay=0.5)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([0.8500, 1.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        complex: str = "split",
    ) -> None:
        super().__init__(params, **settings(locals()), decoupled_weight_decay=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """As for every rule; states saved before the two were one class lack the flag."""
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


adamw = on_lists(
    AdamW,
    lambda params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, foreach=None,
    capturable=False, differentiable=False, fused=None, grad_scale=None, found_inf=None,
    has_complex=False, *, amsgrad, beta1, beta2, lr, weight_decay, eps, maximize:
    {**locals(), "decoupled_weight_decay": True},
)  # fmt: skip
