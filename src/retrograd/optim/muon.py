"""`Muon`: momentum whose matrix is made orthogonal before the step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from .optimizer import ParamsT
from .rules import Rule, check_single, settings, zeros

__all__ = ["Muon"]

COEFFICIENTS = (3.4445, -4.7750, 2.0315)


class Muon(Rule):
    """Muon, for matrices: `p <- (1 - lr * weight_decay) * p - lr' * orthogonal(b)`.

    `b` is the momentum (with `nesterov`, a mean of it and the gradient); `ns_steps` of a polynomial
    iteration with `ns_coefficients` take its singular values near 1. `lr'` is `lr` times
    sqrt(max(1, rows / columns)), or, with `adjust_lr_fn="match_rms_adamw"`, times
    0.2 * sqrt(max(rows, columns)). The iteration runs in the parameter's dtype, where PyTorch
    rounds to bfloat16; complex matrices, which PyTorch refuses, become unitary. State:
    "momentum_buffer". Raises ValueError for settings out of range and for what is no matrix.
    Source: PyTorch's `optim.Muon`; Jordan et al., 2024.

    >>> w = rg.zeros(2, 2, requires_grad=True)
    >>> (w * rg.tensor([[0.0, 4.0], [1.0, 0.0]])).sum().backward()
    >>> rg.optim.Muon([w], lr=1.0).step()
    >>> (w.detach() < -0.5).tolist()
    [[False, True], [True, False]]
    """

    arrays = ("momentum_buffer",)
    elementwise = False
    counted = False
    lists = (("momentum_buffer", "muon_momentum_bufs"),)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = COEFFICIENTS,
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        defaults = settings(locals())
        check_single(lr)
        bounded = {"Learning rate": lr, "momentum": momentum, "weight decay": weight_decay}
        for name, value in bounded.items():
            if not value >= 0.0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        if len(ns_coefficients) != 3:
            raise ValueError("Coefficients must be a tuple of exactly 3 values")
        if ns_steps >= 100:
            raise ValueError("Number of steps must be less than 100 for computational efficiency")
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p._array.ndim != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{list(p.shape)}. Give biases and the like to another optimizer, AdamW"
                    )

    def begin(self, x: Any, group: dict[str, Any]) -> dict[str, Tensor]:
        """The first state: a momentum of zeros."""
        return {"momentum_buffer": zeros(x)}

    def numbers(self, group: dict[str, Any], first: bool) -> tuple[Any, ...]:
        """The step size, the rate of the momentum, and what is left of the parameter."""
        return group["lr"], group["momentum"], 1 - group["lr"] * group["weight_decay"]

    @staticmethod
    def rule(x: Any, g: Any, state: list[Any], numbers: Any, group: dict[str, Any]) -> None:
        """See the class."""
        (lr, momentum, keep), (b,), (rows, columns) = numbers, state, x.shape
        b += (g - b) * (1 - momentum)
        update = g + (b - g) * momentum if group["nesterov"] else b
        step = orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        ratio = math.sqrt(max(1, rows / columns))
        if group["adjust_lr_fn"] == "match_rms_adamw":
            ratio = 0.2 * math.sqrt(max(rows, columns))
        x *= keep
        x -= step * (lr * ratio)


def orthogonal(matrix: Any, coefficients: Any, steps: int, eps: float) -> Any:
    """A matrix with the same singular vectors and singular values near 1, by Newton and Schulz.

    Each step takes a singular value s to `a * s + b * s ** 3 + c * s ** 5`.
    """
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.conj().T if tall else matrix
    norm = np.linalg.norm(abs(x).astype(np.float64))  # whose square float32 may not hold
    x = (x / np.maximum(norm, eps)).astype(x.dtype)
    for _ in range(steps):
        gram = x @ x.conj().T
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x.conj().T if tall else x
