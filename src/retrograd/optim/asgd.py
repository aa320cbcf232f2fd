"""`ASGD`: gradient descent with a decaying rate, and the average of its path."""

from __future__ import annotations

from typing import Any

from ..engine.tensor import Tensor
from .lists import on_lists
from .optimizer import ParamsT
from .rprop import where
from .rules import Rule, check_settings, scalar, settings

__all__ = ["ASGD", "asgd"]


class ASGD(Rule):
    """Averaged gradient descent: `p <- (1 - lambd * eta) * p - eta * g`; `ax` averages `p`.

    The rate of step t is `eta = lr / (1 + lambd * lr * t) ** alpha`. `ax` in the state is the last
    parameter up to step `t0`, and the average of all later ones from then on. `weight_decay` and
    `maximize` as for `SGD`. State: "step", "ax", "eta", "mu". Raises ValueError for negative
    settings. Source: PyTorch's `optim.ASGD`; Polyak and Juditsky, 1992.

    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.ASGD([w], lr=0.1, lambd=0)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w, optimizer.state[w]["ax"]
    (tensor([0.8000, 1.6000], requires_grad=True), tensor([0.8000, 1.6000]))
    """

    arrays = ("ax",)
    scalars = ("step", "eta", "mu")
    lists = (("mu", "mus"), ("ax", "axs"), ("eta", "etas"), ("step", "state_steps"))

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        defaults = settings(locals())
        check_settings(lr=lr, weight_decay=weight_decay)
        super().__init__(params, defaults)

    def begin(self, x: Any, group: dict[str, Any]) -> dict[str, Tensor]:
        """The rates of the first step are in the state, too."""
        rates = {"eta": scalar(group["lr"]), "mu": scalar(1)}
        return {"step": scalar(0), **rates, **super().begin(x, group)}

    def advance(self, own: dict[str, Any], group: dict[str, Any]) -> tuple[Any, float]:
        """The rates of this step, whose place in the state those of the next one take."""
        step, lr = super().advance(own, group), group["lr"]
        eta, mu = own["eta"], own["mu"]._array
        now = eta if eta.requires_grad else eta._array.item(), mu.item()
        after = lr / (1 + group["lambd"] * lr * step) ** group["alpha"]
        if isinstance(after, Tensor):
            own["eta"] = after
        else:
            eta._array.fill(after)
        mu.fill(1 / max(1, step - group["t0"]))
        return now

    def numbers(self, group: dict[str, Any], rates: tuple[Any, float]) -> tuple[Any, ...]:
        """The step size, what is left of the parameter, and its share in the average."""
        eta, mu = rates
        return eta, 1 - group["lambd"] * eta, mu

    @staticmethod
    def rule(x: Any, g: Any, state: list[Any], numbers: Any, group: dict[str, Any]) -> None:
        """See the class."""
        (eta, keep, mu), (average,) = numbers, state
        x *= keep
        x -= g * eta
        average[...] = where(mu == 1, x, average + (x - average) * mu)


asgd = on_lists(
    ASGD,
    lambda params, grads, axs, mus, etas, state_steps, foreach=None, maximize=False,
    differentiable=False, capturable=False, has_complex=False, *, lambd, lr, t0, alpha,
    weight_decay: locals(),
)  # fmt: skip
