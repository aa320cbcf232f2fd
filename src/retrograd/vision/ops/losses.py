"""Losses of detectors: of boxes against boxes, and of scores where most are background."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import nn
from .boxes import distortion, hull, overlap, separation, wide

if TYPE_CHECKING:
    from ...engine.tensor import Tensor

__all__ = [
    "complete_box_iou_loss",
    "distance_box_iou_loss",
    "generalized_box_iou_loss",
    "sigmoid_focal_loss",
]


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """The losses, their mean (0 of none) or their sum; ValueError for another reduction."""
    if reduction == "none":
        return loss
    if reduction == "mean":
        return loss.mean() if loss.numel() else 0.0 * loss.sum()
    if reduction == "sum":
        return loss.sum()
    raise ValueError(
        f"Invalid Value for arg 'reduction': {reduction!r}. Supported reduction modes: 'none', "
        "'mean', 'sum'"
    )


def generalized_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 - `generalized_box_iou` of each box (..., 4) with its partner.

    >>> boxes = rg.tensor([[0.0, 0, 1, 1]])
    >>> rg.vision.ops.generalized_box_iou_loss(boxes, boxes + 2)
    tensor([1.7778])
    """
    boxes1, boxes2 = wide(boxes1), wide(boxes2)
    common, union = overlap(boxes1, boxes2)
    around = hull(boxes1, boxes2).prod(-1)
    giou = common / (union + eps) - (around - union) / (around + eps)
    return reduced(1 - giou, reduction)


def distance_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 - `distance_box_iou` of each box (..., 4) with its partner.

    >>> boxes = rg.tensor([[0.0, 0, 1, 1]])
    >>> rg.vision.ops.distance_box_iou_loss(boxes, boxes + 2)
    tensor([1.4444])
    """
    boxes1, boxes2 = wide(boxes1), wide(boxes2)
    common, union = overlap(boxes1, boxes2)
    loss = 1 - common / (union + eps) + separation(boxes1, boxes2, eps)
    return reduced(loss, reduction)


def complete_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 - `complete_box_iou` of each box (..., 4) with its partner.

    >>> boxes = rg.tensor([[0.0, 0, 1, 1]])
    >>> rg.vision.ops.complete_box_iou_loss(boxes, boxes + 2)
    tensor([1.4444])
    """
    boxes1, boxes2 = wide(boxes1), wide(boxes2)
    common, union = overlap(boxes1, boxes2)
    iou = common / (union + eps)
    loss = 1 - iou + separation(boxes1, boxes2, eps) + distortion(boxes1, boxes2, iou, eps)
    return reduced(loss, reduction)


def sigmoid_focal_loss(
    inputs: Tensor,
    targets: Tensor,
    alpha: float = 0.25,
    gamma: float = 2,
    reduction: str = "none",
) -> Tensor:
    """Cross-entropy of scores before the sigmoid with targets 0 and 1, of any shape.

    What is nearly right counts less, by the `gamma`-th power of the probability of the other
    class; `alpha` weighs targets 1 and 1 - `alpha` targets 0, -1 neither. Raises ValueError for
    other `alpha` outside 0 to 1. Source: T.-Y. Lin et al., "Focal loss" (2017).

    >>> rg.vision.ops.sigmoid_focal_loss(rg.zeros(1), rg.ones(1))
    tensor([0.0433])
    """
    if alpha != -1 and not 0 <= alpha <= 1:
        raise ValueError(f"Invalid alpha value: {alpha}. alpha must be in [0,1] or -1 for ignore")
    p = inputs.sigmoid()
    entropy = nn.functional.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    right = p * targets + (1 - p) * (1 - targets)
    loss = entropy * (1 - right) ** gamma
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    return reduced(loss, reduction)
