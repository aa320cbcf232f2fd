"""`Adam`: steps scaled by running averages of the gradient and of its square."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from .lists import on_lists
from .optimizer import ParamsT
from .rules import Rule, check_betas, check_complex, check_settings, conj, settings, spare

__all__ = ["Adam", "adam"]


class Adam(Rule):
    """Adam: `p <- p - lr * m' / (sqrt(v') + eps)` with averages `m` of `g` and `v` of `g * g`.

    `m'` and `v'` are the averages, of rates `betas`, freed of their start at zero. The gradient
    gets `weight_decay * p`, or, with `decoupled_weight_decay`, the parameter loses that directly
    (AdamW). `amsgrad` divides by the largest `v` so far; `maximize` ascends. Real and imaginary
    parts of a complex parameter are separate numbers, each with its own `v`, as in PyTorch; with
    complex="modulus" it is one number, and `v` the average of |g|^2, so that turning parameters and
    data by a phase turns the path. State: "step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq". Raises
    ValueError for settings out of range, and for "modulus" beside `differentiable`.
    Source: PyTorch's `optim.Adam`; Kingma and Ba, ICLR 2015; Reddi et al., ICLR 2018.

    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    arrays = ("exp_avg", "exp_avg_sq")
    one_dtype = True
    lists = (
        ("exp_avg", "exp_avgs"),
        ("exp_avg_sq", "exp_avg_sqs"),
        ("max_exp_avg_sq", "max_exp_avg_sqs"),
        ("step", "state_steps"),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[Any, ...] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
        complex: str = "split",
    ) -> None:
        defaults = settings(locals(), "lr betas eps weight_decay amsgrad maximize")
        check_settings(lr=lr, eps=eps)
        check_betas(betas)
        check_settings(weight_decay=weight_decay)
        defaults["betas"] = betas_of_one_kind(betas)
        if foreach and not capturable:
            check_no_tensors({"lr": lr, "betas[0]": betas[0], "betas[1]": betas[1]})
        check_complex(complex, differentiable)
        super().__init__(params, defaults)

    def state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        """The names in the state: one more with `amsgrad`."""
        return (*self.arrays, "max_exp_avg_sq") if group["amsgrad"] else self.arrays

    def numbers(self, group: dict[str, Any], step: float) -> tuple[Any, ...]:
        """Bias corrections are folded into the step size and `eps`."""
        beta1, beta2 = group["betas"]
        root = (1 - beta2**step) ** 0.5
        size = group["lr"] * root / (1 - beta1**step)
        return 1 - beta1, beta2, 1 - beta2, size, group["eps"] * root

    @staticmethod
    def rule(x: Any, g: Any, state: list[Any], numbers: Any, group: dict[str, Any]) -> None:
        """See the class."""
        take1, keep2, take2, size, eps = numbers
        m, v = state[:2]
        t = g - m
        t *= take1
        m += t
        t = np.multiply(g, take2, out=spare(t))
        t *= conj(g, group)
        v *= keep2
        v += t
        if group["amsgrad"]:
            v = state[2] = np.maximum(state[2], v, out=spare(state[2]))
        t = np.sqrt(v, out=spare(t))
        t = np.add(t, eps, out=spare(t))
        t = np.divide(m, t, out=spare(t))
        t *= size
        x -= t


def betas_of_one_kind(betas: tuple[Any, ...]) -> tuple[Any, ...]:
    """The rates of averages, those in tensors 0-d; ValueError unless all are tensors or floats."""
    if not any(all(isinstance(beta, kind) for beta in betas) for kind in (float, Tensor)):
        raise ValueError(f"betas must be either both floats or both Tensors, got {betas}")
    return tuple(b.squeeze() if isinstance(b, Tensor) and b.ndim else b for b in betas)


def check_no_tensors(values: dict[str, Any]) -> None:
    """Raise ValueError where a setting is a tensor, which lists of tensors do not take."""
    for name, value in values.items():
        if isinstance(value, Tensor):
            raise ValueError(
                f"{name} as a Tensor is not supported for capturable=False and foreach=True. "
                "Leave foreach out"
            )


adam = on_lists(
    Adam,
    lambda params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, foreach=None,
    capturable=False, differentiable=False, fused=None, grad_scale=None, found_inf=None,
    has_complex=False, decoupled_weight_decay=False, *, amsgrad, beta1, beta2, lr, weight_decay,
    eps, maximize: locals(),
)  # fmt: skip
