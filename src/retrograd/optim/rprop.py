"""`Rprop`: step sizes that grow while a gradient keeps its sign, and shrink when it turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.tensor import new_tensor
from ..kernels.allocation import full, zeros
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

__all__ = ["Rprop"]


class Rprop(Optimizer):
    """Resilient propagation: `p <- p - s * sign(g)`, each element with a step size `s` of its own.

    `s` starts at `lr`; it is multiplied by `etas[1]` when the gradient keeps its sign, by `etas[0]`
    when that turns (then the element stays where it is for one step), and kept within `step_sizes`.
    For full batches: only the sign of a gradient counts. Real and imaginary parts of a complex
    parameter are separate numbers, as in PyTorch. State: "step", "prev", "step_size". Raises
    ValueError for settings out of range. Source: PyTorch's `optim.Rprop`; Riedmiller and Braun,
    1993.

    >>> import retrograd as rg
    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.Rprop([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(
                f"Invalid eta values: {etas[0]}, {etas[1]}; the first lies between 0 and 1, the "
                "second is larger than 1"
            )
        check_implementation(differentiable)
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
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
                    own.update(_start(x, float(group["lr"])))
                count_step(own)
                before, size = own["prev"]._array, own["step_size"]._array
                for part in real_pieces(x, p._gradient._array, before, size):
                    _rprop(*part, group)
                wrote_all(p, own, "Rprop.step")
        return loss


def _start(x: Any, lr: float) -> dict[str, Any]:
    size = complex(lr, lr) if x.dtype.kind == "c" else lr
    return {
        "step": first_step(),
        "prev": new_tensor(zeros(x, x.shape)),
        "step_size": new_tensor(full(x, x.shape, size)),
    }


def _rprop(x: Any, g: Any, before: Any, size: Any, group: dict[str, Any]) -> None:
    """The rule for one array, or block of one, of real numbers."""
    less, more, least, most = constants(x.dtype, *group["etas"], *group["step_sizes"])
    if group["maximize"]:
        g = -g
    agreement = g * before
    turned = agreement < 0
    size *= np.where(turned, less, np.where(agreement > 0, more, x.dtype.type(1)))
    np.clip(size, least, most, out=size)
    g = np.where(turned, x.dtype.type(0), g)
    x -= np.sign(g) * size
    before[...] = g
