"""`SGD`: gradient descent, with momentum if wanted."""

from __future__ import annotations

from typing import Any

from ..engine.tensor import Tensor
from .lists import on_lists
from .optimizer import ParamsT
from .rules import Rule, check_settings, settings, zeros

__all__ = ["SGD", "sgd"]


class SGD(Rule):
    """Stochastic gradient descent: `p <- p - lr * b`, `b <- momentum * b + (1 - dampening) * g`.

    The first step takes `b = g`; without momentum `b` is `g`. `g` is the gradient, plus
    `weight_decay * p`; `nesterov` steps by `g + momentum * b`; `maximize` ascends. For a real
    loss L and a complex z = x + iy, the gradient is ∂L/∂x + i ∂L/∂y = 2 ∂L/∂z*, the direction of
    steepest ascent. State: "momentum_buffer". Raises
    ValueError for negative settings. Source: PyTorch's `optim.SGD`; Sutskever et al., ICML 2013.

    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.SGD([w], lr=0.1, momentum=0.9)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w
    tensor([0.4600, 0.9200], requires_grad=True)
    """

    arrays = ("momentum_buffer",)
    counted = False
    lists = (("momentum_buffer", "momentum_buffer_list"),)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = settings(locals())
        check_settings(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults)

    def state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        """The names in the state: none without momentum."""
        return self.arrays if group["momentum"] else ()

    def begin(self, x: Any, group: dict[str, Any]) -> dict[str, Tensor]:
        """The first state: a momentum of zeros."""
        return {"momentum_buffer": zeros(x)}

    def numbers(self, group: dict[str, Any], first: bool) -> tuple[Any, ...]:
        """The share of the gradient in the momentum is all of it in the first step."""
        return group["lr"], group["momentum"], 1 if first else 1 - group["dampening"]

    def _init_group(self, group: Any, params: Any, grads: Any, *lists: Any) -> Any:
        """As for every rule; whether a gradient is sparse. The first momentum is None."""
        super()._init_group(group, params, grads, *lists)
        return any(g.is_sparse for g in grads)

    def by_entry(self, group: dict[str, Any]) -> bool:
        """Momentum and weight decay move what has no gradient, too."""
        return not (group["momentum"] or group["weight_decay"])

    @staticmethod
    def rule(x: Any, g: Any, state: list[Any], numbers: Any, group: dict[str, Any]) -> None:
        """See the class."""
        lr, momentum, share = numbers
        if state:
            (b,) = state
            b *= momentum
            b += g * share if group["dampening"] else g
            g = g + b * momentum if group["nesterov"] else b
        x -= g * lr


sgd = on_lists(
    SGD,
    lambda params, d_p_list, momentum_buffer_list, has_sparse_grad=False, foreach=None, fused=None,
    grad_scale=None, found_inf=None, *, weight_decay, momentum, lr, dampening, nesterov, maximize:
    locals(),
)  # fmt: skip
