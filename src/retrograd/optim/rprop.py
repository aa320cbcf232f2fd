"""`Rprop`: step sizes that grow while a gradient keeps its sign, and shrink when it turns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from ..ops.lazy_loading import load
from .lists import on_lists
from .optimizer import ParamsT
from .rules import Rule, check_complex, check_settings, conj, filled_like, settings, spare

__all__ = ["Rprop", "rprop"]


def where(condition: Any, x: Any, y: Any) -> Any:
    """NumPy's `where` in a rule, which of tensors is a tensor, with a gradient or without."""
    if any(isinstance(each, Tensor) for each in (condition, x, y)):
        return load("where")(condition, x, y)
    return np.where(condition, x, y)


class Rprop(Rule):
    """Resilient propagation: `p <- p - s * sign(g)`, each element with a step size `s` of its own.

    `s` starts at `lr`; it is multiplied by `etas[1]` when the gradient keeps its sign, by `etas[0]`
    when that turns (then the element stays where it is for one step), and kept within `step_sizes`.
    For full batches: only the sign of a gradient counts. `complex` as for `Adam`: with "modulus"
    the sign is the direction g / |g|, and a gradient turns that points back, Re(g conj(before)) <
    0. State: "step", "prev", "step_size". Raises ValueError for settings out of range, and for
    "modulus" beside `differentiable`. Source: PyTorch's `optim.Rprop`; Riedmiller and Braun, 1993.

    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.Rprop([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    arrays = ("prev", "step_size")
    lists = (("prev", "prevs"), ("step_size", "sizes"), ("step", "state_steps"))

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        complex: str = "split",
    ) -> None:
        defaults = settings(locals(), "lr etas step_sizes foreach maximize differentiable")
        check_complex(complex, differentiable)
        check_settings(lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(
                f"Invalid eta values: {etas[0]}, {etas[1]}; the first lies between 0 and 1, the "
                "second is larger than 1"
            )
        super().__init__(params, defaults)

    def begin(self, x: Any, group: dict[str, Any]) -> dict[str, Tensor]:
        """The first state: step sizes of `lr`."""
        return {**super().begin(x, group), "step_size": filled_like(x, group["lr"], group)}

    def numbers(self, group: dict[str, Any], step: float) -> tuple[Any, ...]:
        """The factors of a step size, and its bounds."""
        return *group["etas"], *group["step_sizes"]

    @staticmethod
    def rule(x: Any, g: Any, state: list[Any], numbers: Any, group: dict[str, Any]) -> None:
        """See the class."""
        less, more, least, most = numbers
        before, size = state
        agreement = (g * conj(before, group)).real
        turned = agreement < 0
        size *= where(turned, less, where(agreement > 0, more, 1))
        size = state[1] = np.clip(size, least, most, out=spare(size))
        before[...] = where(turned, 0, g)
        x -= np.sign(before) * size


rprop = on_lists(
    Rprop,
    lambda params, grads, prevs, step_sizes, state_steps, foreach=None, capturable=False,
    maximize=False, differentiable=False, has_complex=False, *, step_size_min, step_size_max,
    etaminus, etaplus: {
        **locals(), "sizes": step_sizes, "etas": (etaminus, etaplus),
        "step_sizes": (step_size_min, step_size_max), "lr": 0,
    },
)  # fmt: skip
