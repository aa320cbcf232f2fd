"""`SGD`: gradient descent, with momentum if wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.tensor import new_tensor, wrote
from .optimizer import Optimizer
from .rules import (
    BLOCK,
    check_implementation,
    check_settings,
    constants,
    evaluate,
    is_small,
    pieces,
    quiet_step,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SGD"]

add, subtract, multiply = np.add, np.subtract, np.multiply


class SGD(Optimizer):
    """Stochastic gradient descent: `p <- p - lr * b`, `b <- momentum * b + (1 - dampening) * g`.

    The first step takes `b = g`; without momentum `b` is `g`. `g` is the gradient, plus
    `weight_decay * p`; `nesterov` steps by `g + momentum * b`; `maximize` ascends. A complex
    parameter moves along -∂L/∂z*, the steepest descent. State: "momentum_buffer". Raises ValueError
    for negative settings. Source: PyTorch's `optim.SGD`; Sutskever et al., ICML 2013.

    >>> import retrograd as rg
    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.SGD([w], lr=0.1, momentum=0.9)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w
    tensor([0.4600, 0.9200], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
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
        check_settings(lr=lr, momentum=momentum, weight_decay=weight_decay)
        check_implementation(differentiable, foreach=foreach, fused=fused)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
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
        """One loop over the parameters with everything constant outside it: it is timed."""
        state = self.state
        has_momentum = group["momentum"] != 0
        plain = not (group["weight_decay"] or group["nesterov"] or group["maximize"])
        plain = plain and (not has_momentum or group["dampening"] == 0)
        dtype = lr = momentum = None
        for p in group["params"]:
            grad = p._gradient
            if grad is None:
                continue
            x = p._array
            if x.dtype is not dtype:
                dtype = x.dtype
                lr, momentum = constants(dtype, group["lr"], group["momentum"])
            buffer = state[p].get("momentum_buffer") if plain and has_momentum else None
            small = x.ndim and x.size <= BLOCK
            if plain and small and not has_momentum:
                subtract(x, multiply(grad._array, lr), x)
            elif buffer is not None and small:
                b = buffer._array
                wrote(buffer, "SGD.step")
                multiply(b, momentum, b)
                add(b, grad._array, b)
                subtract(x, multiply(b, lr), x)
            else:
                self._update_any(p, grad._array, group)
            wrote(p, "SGD.step")

    def _update_any(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        """The rule for one parameter, whatever its size and the group's settings."""
        x, keep = p._array, 1 - group["dampening"]
        values = (group["lr"], group["momentum"], keep, group["weight_decay"])
        lr, momentum, share, decay = constants(x.dtype, *values)
        if group["momentum"] == 0:
            for part in ((x, g),) if is_small(x) else pieces(x, g):
                subtract(part[0], multiply(_direction(*part, decay, group), lr), part[0])
            return
        own = self.state[p]
        if "momentum_buffer" not in own:
            own["momentum_buffer"] = new_tensor(np.zeros_like(x))
            share = constants(x.dtype, 1)[0]
        wrote(own["momentum_buffer"], "SGD.step")
        arrays = (x, g, own["momentum_buffer"]._array)
        for part in (arrays,) if is_small(x) else pieces(*arrays):
            _with_momentum(*part, lr, momentum, share, decay, group)


def _direction(x: Any, g: Any, decay: Any, group: dict[str, Any]) -> Any:
    """The gradient with its sign and the weight decay."""
    if group["maximize"]:
        g = -g
    if group["weight_decay"]:
        g = g + multiply(x, decay)
    return g


def _with_momentum(x: Any, g: Any, b: Any, *settings: Any) -> None:
    """The whole rule for one array, or block of one."""
    lr, momentum, keep, decay, group = settings
    g = _direction(x, g, decay, group)
    multiply(b, momentum, b)
    add(b, multiply(g, keep), b)
    step = multiply(b, momentum) + g if group["nesterov"] else b
    subtract(x, multiply(step, lr), x)
