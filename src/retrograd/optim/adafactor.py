"""`Adafactor`: Adam's scaling with one number per row and per column, not one per element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import real_of
from ..engine.tensor import Tensor, new_tensor
from ..kernels.allocation import zeros
from .optimizer import Optimizer
from .rules import count_step, evaluate, first_step, quiet_step, wrote_all

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Adafactor: `p <- p - a * u / max(1, rms(u) / d)`, `u = g / sqrt(v)`.

    `v` averages `|g| ** 2` at the rate `1 - step ** beta2_decay`; of matrices (the last two
    dimensions) only its mean over each row and each column is kept, and their product used. The
    step size is relative: `a = max(eps[1], rms(p)) * min(lr, 1 / sqrt(step))`. `eps[0]` bounds
    `sqrt(v)` from below (by default the dtype's epsilon); `weight_decay` is decoupled, as in AdamW.

    A complex parameter, which PyTorch refuses, has one real `v` per element, of the modulus: the
    rule does not depend on a common phase. State: "step", "row_var" and "col_var", or "variance".
    Raises ValueError for settings out of range. Source: PyTorch's `optim.Adafactor`; Shazeer and
    Stern, ICML 2018.

    >>> import retrograd as rg
    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.Adafactor([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([0.8419, 1.8419], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr._array.size != 1:
            raise ValueError("Tensor lr must be 1-element")
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
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    @quiet_step
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure`, if given, returns."""
        loss = evaluate(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p._gradient is None or not p._array.size:
                    continue
                own = self.state[p]
                if not own:
                    own.update(_start(p._array))
                g = -p._gradient._array if group["maximize"] else p._gradient._array
                _adafactor(p._array, g, own, count_step(own), group)
                wrote_all(p, own, "Adafactor.step")
        return loss


def _start(x: Any) -> dict[str, Any]:
    """New state: means over the last two dimensions, or all squares of a vector."""
    shapes = {"variance": x.shape}
    if x.ndim > 1:
        shapes = {"row_var": (*x.shape[:-1], 1), "col_var": (*x.shape[:-2], 1, x.shape[-1])}
    real = real_of(x.dtype)
    averages = {name: new_tensor(zeros(x, shape, real)) for name, shape in shapes.items()}
    return {"step": first_step(), **averages}


def _adafactor(x: Any, g: Any, own: dict[str, Any], step: float, group: dict[str, Any]) -> None:
    """The rule for one array; not in blocks, for rows and columns need the whole."""
    lr, kind = float(group["lr"]), real_of(x.dtype)
    eps1, eps2 = group["eps"]
    low = float(np.finfo(kind).eps) if eps1 is None else eps1
    take = kind.type(step ** group["beta2_decay"])
    size = np.fmax(eps2, rms(x)) * min(lr, step**-0.5)
    if group["weight_decay"]:
        x *= kind.type(1 - lr * group["weight_decay"])
    squares = (g * g.conj()).real
    if x.ndim > 1:
        row, column = own["row_var"]._array, own["col_var"]._array
        row += (squares.mean(-1, keepdims=True) - row) * take
        column += (squares.mean(-2, keepdims=True) - column) * take
        scale = row * column / np.maximum(row.mean(-2, keepdims=True), kind.type(low))
    else:
        variance = own["variance"]._array
        variance += (squares - variance) * take
        scale = variance
    update = g / np.sqrt(np.maximum(scale, kind.type(low * low)))
    x -= update * (size / np.fmax(1.0, rms(update) / group["d"])).astype(kind)


def rms(x: Any) -> Any:
    """The root of the mean of `|x| ** 2`, in double precision."""
    return (np.linalg.norm(x.reshape(-1)) / x.size**0.5).astype(np.float64)
