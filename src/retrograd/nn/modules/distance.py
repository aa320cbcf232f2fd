"""Distances and angles between vectors."""

from __future__ import annotations

from ...engine.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class CosineSimilarity(Module):
    """x1 . x2 / (|x1| |x2|) along `dim`, each norm at least `eps`.

    Two shapes (*1, D, *2) that broadcast to (*1, *2); floating or complex, else RuntimeError.

    >>> rg.nn.CosineSimilarity()(rg.tensor([[3.0, 4.0]]), rg.tensor([[1.0, 0.0]]))
    tensor([0.6000])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The cosine of the angle between `x1` and `x2`."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps along the last dimension.

    Two shapes (*, D) that broadcast to (*), or (*, 1) with `keepdim`; floating, or complex with a
    real distance.

    >>> rg.nn.PairwiseDistance()(rg.tensor([[3.0, 4.0]]), rg.zeros(1, 2))
    tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The distance between `x1` and `x2`."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
