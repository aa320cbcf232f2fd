"""`Adafactor`: Adam's scaling with one number per row and per column, not one per element."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import finfo, of_numpy, real_of
from ..engine.tensor import Tensor, new_tensor
from ..kernels import allocation
from .optimizer import ParamsT
from .rules import Rule, check_single, scalar, settings

__all__ = ["Adafactor"]


class Adafactor(Rule):
    """Adafactor: `p <- p - a * u / max(1, rms(u) / d)`, `u = g / sqrt(v)`.

    `v` averages `|g| ** 2` at the rate `1 - step ** beta2_decay`; of matrices (the last two
    dimensions) only its mean over each row and each column is kept, and their product used. The
    step size is relative: `a = max(eps[1], rms(p)) * min(lr, 1 / sqrt(step))`. `eps[0]` bounds
    `sqrt(v)` from below (by default the dtype's epsilon); `weight_decay` is decoupled, as in AdamW.

    A complex parameter, which PyTorch refuses, has one real `v` per element, of the modulus: the
    rule does not depend on a common phase. State: "step", "row_var" and "col_var", or "variance".
    Raises ValueError for settings out of range. Source: PyTorch's `optim.Adafactor`; Shazeer and
    Stern, ICML 2018.

    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.Adafactor([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([0.8419, 1.8419], requires_grad=True)
    """

    arrays = ("row_var", "col_var", "variance")
    elementwise = False
    lists = (
        ("row_var", "row_vars"),
        ("col_var", "col_vars"),
        ("variance", "variances"),
        ("step", "state_steps"),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        defaults = settings(locals())
        check_single(lr)
        for name, value in (
            ("Learning rate", lr),
            ("epsilon1", eps[0] or 0.0),
            ("epsilon2", eps[1]),
            ("weight_decay", weight_decay),
        ):
            if not value >= 0.0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        super().__init__(params, defaults)

    def begin(self, x: Any, group: dict[str, Any]) -> dict[str, Tensor]:
        """Means over the last two dimensions, or all squares of a vector."""
        shapes = {"variance": x.shape}
        if x.ndim > 1:
            shapes = {"row_var": (*x.shape[:-1], 1), "col_var": (*x.shape[:-2], 1, x.shape[-1])}
        real = real_of(x.dtype)
        state = {"step": scalar(0)}
        for name, shape in shapes.items():
            state[name] = new_tensor(allocation.zeros(x, shape, real))
        return state

    def numbers(self, group: dict[str, Any], step: float) -> tuple[Any, ...]:
        """The share of the new squares, the largest relative step, and the weight decay."""
        keep = 1 - group["lr"] * group["weight_decay"]
        return step ** group["beta2_decay"], min(group["lr"], step**-0.5), keep

    @staticmethod
    def rule(x: Any, g: Any, state: list[Any], numbers: Any, group: dict[str, Any]) -> None:
        """See the class."""
        if not x.size:
            return
        (take, most, keep), (eps1, eps2) = numbers, group["eps"]
        low = finfo(of_numpy(real_of(x.dtype))).eps if eps1 is None else eps1
        size = np.fmax(eps2, rms(x)) * most
        x *= keep
        squares = (g * g.conj()).real
        if x.ndim > 1:
            row, column = state
            row += (squares.mean(-1, keepdims=True) - row) * take
            column += (squares.mean(-2, keepdims=True) - column) * take
            v = row * column / np.maximum(row.mean(-2, keepdims=True), low)
        else:
            (v,) = state
            v += (squares - v) * take
        update = g / np.sqrt(np.maximum(v, low * low))
        x -= update * (size / np.fmax(1.0, rms(update) / group["d"]))


def rms(x: Any) -> Any:
    """The root of the mean of `|x| ** 2`, in double precision."""
    return (np.linalg.norm(x.reshape(-1)) / x.size**0.5).astype(np.float64)
