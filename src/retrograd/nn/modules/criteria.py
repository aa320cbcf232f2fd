"""Losses that hold more than settings: of unaligned sequences, a layer of logits, triplets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...engine.tensor import Tensor
from .. import functional as F
from .arrange import PairwiseDistance
from .linear import Linear
from .loss import _check_margin, _Loss, _WeightedLoss
from .module import Module

__all__ = [
    "CTCLoss",
    "LinearCrossEntropyLoss",
    "LinearCrossEntropyOptions",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class CTCLoss(Module):
    """Connectionist temporal classification: sequences of labels without an alignment.

    log_probs (T, N, C) or (T, C), floating, to a scalar, or (N) if the reduction is "none". What
    the other arguments of the call mean, and the errors, are said at `functional.ctc_loss`. Source:
    PyTorch's `nn.CTCLoss`; Graves et al., ICML 2006.

    >>> log_probs = rg.zeros(2, 1, 2).log_softmax(-1)
    >>> rg.nn.CTCLoss()(log_probs, rg.tensor([[1]]), rg.tensor([2]), rg.tensor([1]))
    tensor(0.2877)
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__()
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        """The loss of `log_probs` (T, N, C) against `targets`."""
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction,
            self.zero_infinity,
        )  # fmt: skip


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How PyTorch divides the work of `linear_cross_entropy` to save memory; here, no difference.

    >>> rg.nn.LinearCrossEntropyOptions().chunking_method
    'auto'
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str | None = "auto"
    acc_dtype: Any = None


class LinearCrossEntropyLoss(_WeightedLoss):
    """A linear layer from features to classes, and the cross-entropy of its logits.

    input: (in_features) or (N, in_features); target as for `CrossEntropyLoss` with logits (N,
    num_classes, *out_features), and so are the returned shape and the errors. The layer is
    `linear`. Source: PyTorch's class of this name.

    >>> loss = rg.nn.LinearCrossEntropyLoss(3, 4)
    >>> loss(rg.zeros(2, 3), rg.tensor([0, 1])).item()
    1.3862943649291992
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__(weight, None, None, reduction)
        self.in_features, self.num_classes = in_features, num_classes
        self.out_features = tuple(out_features)
        rows = num_classes * math.prod(self.out_features)
        self.linear = Linear(in_features, rows, bias, device, dtype)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of the logits of `input` against `target`."""
        shape, bias = (self.num_classes, *self.out_features), self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, self.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
        )

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"in_features={self.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


class TripletMarginLoss(_Loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d the p-norm of the difference.

    Three inputs (*, D), of as many dimensions each, else RuntimeError. Returns a scalar, or (*) if
    the reduction is "none"; real. `swap` takes the smaller of d(anchor, negative) and d(positive,
    negative). Raises ValueError for a margin that is not positive. Source: Balntas et al., BMVC
    2016.

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

    Three inputs of any one shape. Returns a scalar, or the shape of the distances if the reduction
    is "none". Raises ValueError for a margin that is not positive.

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
