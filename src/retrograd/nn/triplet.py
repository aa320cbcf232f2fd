"""Losses of triplets: an anchor, something like it, and something unlike it."""

from __future__ import annotations

from typing import Any

from ..engine.tensor import Tensor
from . import functional as F
from .arrange import PairwiseDistance
from .loss import _check_margin, _Loss

__all__ = ["TripletMarginLoss", "TripletMarginWithDistanceLoss"]


class TripletMarginLoss(_Loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d the p-norm of the difference.

    `swap` takes the smaller of d(anchor, negative) and d(positive, negative). Raises ValueError for
    a margin that is not positive. Source: Balntas et al., BMVC 2016.

    >>> import retrograd as rg
    >>> a, p, n = rg.tensor([[0.0, 0.0]]), rg.tensor([[3.0, 4.0]]), rg.tensor([[0.0, 2.0]])
    >>> rg.nn.TripletMarginLoss()(a, p, n)
    tensor(4.0000)
    """

    settings = ("margin", "p", "eps", "swap", "reduction")

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        _check_margin(self, margin)
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(  # type: ignore[override]
        self, anchor: Tensor, positive: Tensor, negative: Tensor
    ) -> Tensor:
        """The loss of the triples."""
        return F.triplet_margin_loss(anchor, positive, negative, **self._given())


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with any distance function of two tensors; the 2-norm by default.

    >>> import retrograd as rg
    >>> l1 = lambda x, y: (x - y).abs().sum(1)
    >>> a, p, n = rg.zeros(1, 2), rg.tensor([[3.0, 4.0]]), rg.tensor([[0.0, 2.0]])
    >>> rg.nn.TripletMarginWithDistanceLoss(distance_function=l1)(a, p, n)
    tensor(6.)
    """

    settings = ("distance_function", "margin", "swap", "reduction")

    def __init__(
        self,
        *,
        distance_function: Any = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        _check_margin(self, margin)
        self.distance_function = distance_function or PairwiseDistance()
        self.margin, self.swap = margin, swap

    def forward(  # type: ignore[override]
        self, anchor: Tensor, positive: Tensor, negative: Tensor
    ) -> Tensor:
        """The loss of the triples."""
        return F.triplet_margin_with_distance_loss(anchor, positive, negative, **self._given())
