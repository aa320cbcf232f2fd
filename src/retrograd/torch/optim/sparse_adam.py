"""`SparseAdam`: Adam on the entries that a sparse gradient has."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.tensor import tensor_of
from ...optim.rules import Rule, check_betas, check_single, settings

__all__ = ["SparseAdam"]


class SparseAdam(Rule):
    """Adam for sparse gradients: only what has an entry moves, and its averages with it.

    `p <- p - lr' * m / (sqrt(v) + eps)` with `lr' = lr * sqrt(1 - beta2^t) / (1 - beta1^t)` and
    averages `m` of `g` and `v` of `g * g`. State: "step", "exp_avg", "exp_avg_sq". Raises
    ValueError for settings out of range and sparse parameters, RuntimeError for a dense gradient.
    Source: PyTorch's `optim.SparseAdam`.

    >>> table = rg.nn.Embedding(3, 1, sparse=True, _weight=rg.ones(3, 1))
    >>> optimizer = rg.optim.SparseAdam(table.parameters(), lr=0.1)
    >>> table(rg.tensor([2])).sum().backward(); optimizer.step()
    >>> table.weight.detach().T
    tensor([[1.0000, 1.0000, 0.9000]])
    """

    arrays = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, ...] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        defaults = settings(locals())
        check_single(lr)
        for name, value in (("learning rate", lr), ("epsilon value", eps)):
            if not value > 0.0:
                raise ValueError(f"Invalid {name}: {value}")
        check_betas(betas)
        super().__init__(params, defaults)
        sparse = [
            [i, j]
            for i, group in enumerate(self.param_groups)
            for j, p in enumerate(group["params"])
            if p.is_sparse
        ]
        if sparse:
            raise ValueError(
                f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors"
            )

    def _update(self, group: dict[str, Any], every: list[Any]) -> None:
        if not all(tensor_of(g).is_sparse for _, _, g, _ in every):
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead"
            )
        super()._update(group, every)

    def begin(self, x: Any, group: dict[str, Any]) -> dict[str, Any]:
        """The steps are counted in a number, as PyTorch, which computes with it, counts them."""
        return {**super().begin(x, group), "step": 0}

    def advance(self, own: dict[str, Any], group: dict[str, Any]) -> Any:
        """The count, which a file may have as a tensor."""
        own["step"] = int(own["step"]) + 1
        return own["step"]

    def by_entry(self, group: dict[str, Any]) -> bool:
        """True: the rule works on single entries."""
        return True

    def numbers(self, group: dict[str, Any], step: float) -> tuple[Any, ...]:
        """The bias corrections are in the step size."""
        beta1, beta2 = group["betas"]
        size = group["lr"] * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        return 1 - beta1, 1 - beta2, size, group["eps"]

    @staticmethod
    def rule(x: Any, g: Any, state: list[Any], numbers: Any, group: dict[str, Any]) -> None:
        """See the class."""
        (take1, take2, size, eps), (m, v) = numbers, state
        m += (g - m) * take1
        v += (g * g - v) * take2
        x -= m / (np.sqrt(v) + eps) * size
