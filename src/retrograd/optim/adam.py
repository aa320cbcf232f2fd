"""`Adam`: steps scaled by running averages of the gradient and of its square."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.tensor import new_tensor
from ..kernels.allocation import zeros
from .optimizer import Optimizer
from .rules import (
    check_betas,
    check_implementation,
    check_settings,
    constants,
    count_step,
    evaluate,
    first_step,
    is_small,
    passing,
    quiet_step,
    real_pieces,
    wrote_all,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Adam"]

add, subtract, multiply, divide = np.add, np.subtract, np.multiply, np.divide
maximum, sqrt = np.maximum, np.sqrt


class Adam(Optimizer):
    """Adam: `p <- p - lr * m' / (sqrt(v') + eps)` with averages `m` of `g` and `v` of `g * g`.

    `m'` and `v'` are the averages, of rates `betas`, freed of their start at zero. The gradient
    gets `weight_decay * p`, or, with `decoupled_weight_decay`, the parameter loses that directly
    (AdamW). `amsgrad` divides by the largest `v` so far; `maximize` ascends. Real and imaginary
    parts of a complex parameter are separate numbers, each with its own `v`, as in PyTorch. State:
    "step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq". Raises ValueError for settings out of range.
    Source: PyTorch's `optim.Adam`; Kingma and Ba, ICLR 2015; Reddi et al., ICLR 2018.

    >>> import retrograd as rg
    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
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
    ) -> None:
        check_settings(lr=lr, eps=eps)
        betas = check_betas(betas)
        check_settings(weight_decay=weight_decay)
        check_implementation(differentiable, foreach=foreach, fused=fused)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    @quiet_step
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure`, if given, returns."""
        loss = evaluate(closure)
        for group in self.param_groups:
            self._update(group)
        return loss

    def _update(self, group: dict[str, Any]) -> None:
        writer = f"{type(self).__name__}.step"
        known: Any = None
        settings: Any = ()
        for p in group["params"]:
            grad = p._gradient
            if grad is None:
                continue
            x, own = p._array, self.state[p]
            if not own:
                _start(own, x, group["amsgrad"])
            step = count_step(own)
            if known != (step, x.dtype):
                known = (step, x.dtype)
                settings = (*_settings(group, x.dtype, step), group)
            arrays = [x, grad._array, own["exp_avg"]._array, own["exp_avg_sq"]._array]
            if group["amsgrad"]:
                arrays.append(own["max_exp_avg_sq"]._array)
            if x.dtype.kind == "f" and is_small(x):
                _adam(arrays, settings)
            else:
                for part in real_pieces(*arrays):
                    _adam(part, settings)
            wrote_all(p, own, writer)


def _start(own: dict[str, Any], x: Any, amsgrad: bool) -> None:
    own["step"] = first_step()
    names = ["exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if amsgrad else [])]
    for name in names:
        own[name] = new_tensor(zeros(x, x.shape))


def _settings(group: dict[str, Any], dtype: Any, step: float) -> list[Any]:
    """The numbers of one step: bias corrections are folded into the step size and `eps`."""
    lr, decay = float(group["lr"]), group["weight_decay"]
    beta1, beta2 = group["betas"]
    root = (1 - beta2**step) ** 0.5
    size = lr * root / (1 - beta1**step)
    shrink = 1 - lr * decay if group["decoupled_weight_decay"] else decay
    return [
        *constants(dtype, 1 - beta1, beta2, 1 - beta2, shrink),
        *passing(dtype, size, group["eps"] * root),
    ]


def _adam(arrays: Any, settings: Any) -> None:
    """The rule for one array, or block of one, of real numbers."""
    x, g, m, v = arrays[:4]
    take1, keep2, take2, shrink, size, eps, group = settings
    if group["maximize"]:
        g = -g
    if group["weight_decay"]:
        if group["decoupled_weight_decay"]:
            multiply(x, shrink, x)
        else:
            g = g + multiply(x, shrink)
    t = subtract(g, m)
    multiply(t, take1, t)
    add(m, t, m)
    multiply(g, g, t)
    multiply(t, take2, t)
    multiply(v, keep2, v)
    add(v, t, v)
    if group["amsgrad"]:
        v = maximum(arrays[4], v, out=arrays[4])
    sqrt(v, t)
    add(t, eps, t)
    divide(m, t, t)
    multiply(t, size, t)
    subtract(x, t, x)
