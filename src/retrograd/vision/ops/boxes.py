"""Boxes as tensors (..., 4): areas, overlaps, formats, and the choice of the best among many.

A box is (x1, y1, x2, y2), its upper left and lower right corner, where a function does not say
otherwise ("xyxy"); "xywh" has the upper left corner, "cxcywh" the centre, with width and height.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...dtypes import float16, float32, int32
from ...ops.creation.factories import zeros
from ...ops.creation.from_data import from_numpy
from ...ops.shape.join import stack
from ...ops.shape.split import unbind

if TYPE_CHECKING:
    from ...engine.tensor import Tensor

__all__ = [
    "batched_nms",
    "box_area",
    "box_convert",
    "box_iou",
    "clip_boxes_to_image",
    "complete_box_iou",
    "distance_box_iou",
    "generalized_box_iou",
    "masks_to_boxes",
    "nms",
    "remove_small_boxes",
]

FORMATS = ("xyxy", "xywh", "cxcywh")


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Indices (K,), int64, of the boxes (N, 4) that no better one overlaps too much, best first.

    The box of the highest score (N,) stays, and drops all whose intersection over union with it
    is above `iou_threshold`; so on with the next. Equal scores keep their order. Raises
    RuntimeError for other shapes.

    >>> boxes = rg.tensor([[0.0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6]])
    >>> rg.vision.ops.nms(boxes, rg.tensor([0.5, 0.9, 0.7]), 0.5)
    tensor([1, 2])
    """
    return suppressed(boxes, scores, np.zeros(scores.shape, int), iou_threshold)


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """`nms` in which only boxes of one category, a number in `idxs` (N,), drop each other.

    >>> boxes = rg.tensor([[0.0, 0, 2, 2], [0, 0, 2, 1.9]])
    >>> rg.vision.ops.batched_nms(boxes, rg.tensor([0.5, 0.9]), rg.tensor([0, 1]), 0.5)
    tensor([1, 0])
    """
    return suppressed(boxes, scores, idxs.detach().cpu().numpy(), iou_threshold)


def suppressed(boxes: Tensor, scores: Tensor, kinds: np.ndarray, threshold: float) -> Tensor:
    """The indices that `batched_nms` gives."""
    if boxes.ndim != 2 or boxes.shape[1] != 4 or scores.shape != boxes.shape[:1]:
        raise RuntimeError(
            "nms: boxes should be a 2d tensor (N, 4) and scores have N elements. Got "
            f"{tuple(boxes.shape)} and {tuple(scores.shape)}"
        )
    corners = boxes.detach().numpy()
    order = np.argsort(-scores.detach().numpy(), kind="stable")
    areas = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])
    kept = []
    while order.size:
        best, rest = order[0], order[1:]
        kept.append(best)
        sides = np.minimum(corners[best, 2:], corners[rest, 2:])
        sides = np.maximum(sides - np.maximum(corners[best, :2], corners[rest, :2]), 0)
        common = sides[:, 0] * sides[:, 1]
        with np.errstate(invalid="ignore", divide="ignore"):  # boxes without an area drop none
            overlap = common / (areas[best] + areas[rest] - common)
        order = rest[~((overlap > threshold) & (kinds[rest] == kinds[best]))]
    return from_numpy(np.array(kept, np.int64))


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """Indices (K,) of the boxes (N, 4) both of whose sides are at least `min_size`.

    >>> rg.vision.ops.remove_small_boxes(rg.tensor([[0, 0, 2, 2], [0, 0, 5, 1]]), 2)
    tensor([0])
    """
    return ((boxes[..., 2:] - boxes[..., :2]) >= min_size).all(-1).nonzero(as_tuple=True)[0]


def clip_boxes_to_image(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """The parts of boxes (..., 4) within a picture of `size` (height, width).

    >>> rg.vision.ops.clip_boxes_to_image(rg.tensor([[-1, 2, 9, 9]]), (4, 5))
    tensor([[0, 2, 5, 4]])
    """
    height, width = size
    x, y = boxes[..., 0::2].clamp(0, width), boxes[..., 1::2].clamp(0, height)
    return stack((x, y), -1).reshape(boxes.shape)


def checked(name: str, *formats: str) -> None:
    """Raise ValueError for a format that is not known."""
    for each in formats:
        if each not in FORMATS:
            raise ValueError(
                f"{name}: Unsupported Bounding Box format {each!r}. Expected one of {FORMATS}"
            )


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Boxes (..., 4) of one format in another: "xyxy", "xywh" or "cxcywh"; ValueError for others.

    >>> rg.vision.ops.box_convert(rg.tensor([1.0, 2, 5, 4]), "xyxy", "cxcywh")
    tensor([3., 3., 4., 2.])
    """
    checked("box_convert", in_fmt, out_fmt)
    if in_fmt == out_fmt:
        return boxes.clone()
    a, b, c, d = unbind(boxes, -1)
    if in_fmt == "xywh":
        c, d = a + c, b + d
    elif in_fmt == "cxcywh":
        a, b, c, d = a - 0.5 * c, b - 0.5 * d, a + 0.5 * c, b + 0.5 * d
    if out_fmt == "xywh":
        c, d = c - a, d - b
    elif out_fmt == "cxcywh":
        a, b, c, d = (a + c) / 2, (b + d) / 2, c - a, d - b
    return stack((a, b, c, d), -1)


def wide(x: Tensor) -> Tensor:
    """Numbers whose products do not overflow: at least single precision, or int32."""
    if x.is_floating_point():
        return x.float() if x.dtype.itemsize <= float16.itemsize else x
    return x.to(int32) if x.dtype.itemsize < int32.itemsize else x


def box_area(boxes: Tensor, fmt: str = "xyxy") -> Tensor:
    """Areas (...) of boxes (..., 4).

    >>> rg.vision.ops.box_area(rg.tensor([[0, 0, 2, 3]]))
    tensor([6])
    """
    checked("box_area", fmt)
    boxes = wide(boxes)
    sides = boxes[..., 2:] - boxes[..., :2] if fmt == "xyxy" else boxes[..., 2:]
    return sides[..., 0] * sides[..., 1]


def overlap(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    """Areas of the intersections and of the unions of boxes that broadcast."""
    begin = boxes1[..., :2].maximum(boxes2[..., :2])
    sides = wide(boxes1[..., 2:].minimum(boxes2[..., 2:]) - begin).clamp(min=0)
    common = sides[..., 0] * sides[..., 1]
    return common, box_area(boxes1) + box_area(boxes2) - common


def hull(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Sides (..., 2) of the smallest boxes around two that broadcast."""
    begin = boxes1[..., :2].minimum(boxes2[..., :2])
    return wide(boxes1[..., 2:].maximum(boxes2[..., 2:]) - begin).clamp(min=0)


def separation(boxes1: Tensor, boxes2: Tensor, eps: float) -> Tensor:
    """The squared distance of centres as a share of the squared diagonal of the hull."""
    diagonal = hull(boxes1, boxes2).square().sum(-1) + eps
    apart = (boxes1[..., :2] + boxes1[..., 2:] - boxes2[..., :2] - boxes2[..., 2:]) / 2
    return wide(apart).square().sum(-1) / diagonal


def distortion(boxes1: Tensor, boxes2: Tensor, iou: Tensor, eps: float) -> Tensor:
    """How far the ratios of sides differ, weighed by a factor that is a constant for gradients."""
    sides1, sides2 = boxes1[..., 2:] - boxes1[..., :2], boxes2[..., 2:] - boxes2[..., :2]
    angles1, angles2 = ((s[..., 0] / s[..., 1]).atan() for s in (sides1, sides2))
    v = 4 / math.pi**2 * (angles1 - angles2).square()
    return (v / (1 - iou + v + eps)).detach() * v


def pairs(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    """Boxes (..., N, 4) and (..., M, 4) so that they broadcast to all pairs (..., N, M, 4)."""
    return boxes1.unsqueeze(-2), boxes2.unsqueeze(-3)


def box_iou(boxes1: Tensor, boxes2: Tensor, fmt: str = "xyxy") -> Tensor:
    """Intersection over union (..., N, M) of boxes (..., N, 4) with boxes (..., M, 4).

    >>> rg.vision.ops.box_iou(rg.tensor([[0.0, 0, 2, 2]]), rg.tensor([[1.0, 0, 3, 2]]))
    tensor([[0.3333]])
    """
    checked("box_iou", fmt)
    if fmt != "xyxy":
        boxes1, boxes2 = (box_convert(each, fmt, "xyxy") for each in (boxes1, boxes2))
    common, union = overlap(*pairs(boxes1, boxes2))
    return common / union


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """`box_iou` less the share of the hull that neither box covers, (..., N, M).

    Source: H. Rezatofighi et al., "Generalized intersection over union" (2019).

    >>> rg.vision.ops.generalized_box_iou(rg.tensor([[0.0, 0, 1, 1]]), rg.tensor([[2.0, 0, 3, 1]]))
    tensor([[-0.3333]])
    """
    both = pairs(boxes1, boxes2)
    common, union = overlap(*both)
    around = hull(*both).prod(-1)
    return common / union - (around - union) / around


def distance_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """`box_iou` less the squared distance of centres over the hull's squared diagonal.

    Source: Z. Zheng et al., "Distance-IoU loss" (2020).

    >>> rg.vision.ops.distance_box_iou(rg.tensor([[0.0, 0, 1, 1]]), rg.tensor([[2.0, 0, 3, 1]]))
    tensor([[-0.4000]])
    """
    return box_iou(boxes1, boxes2) - separation(*pairs(boxes1, boxes2), eps)


def complete_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """`distance_box_iou` less a measure of how far the ratios of sides differ, (..., N, M).

    Source: Z. Zheng et al., "Distance-IoU loss" (2020).

    >>> rg.vision.ops.complete_box_iou(rg.tensor([[0.0, 0, 1, 1]]), rg.tensor([[0.0, 0, 1, 1]]))
    tensor([[1.]])
    """
    both, iou = pairs(boxes1, boxes2), box_iou(boxes1, boxes2)
    return iou - separation(*both, eps) - distortion(*both, iou, eps)


def masks_to_boxes(masks: Tensor) -> Tensor:
    """The smallest boxes (N, 4), float32, around what is not zero in masks (N, H, W).

    A box has the first and the last column and row; of an empty mask it is zero.

    >>> rg.vision.ops.masks_to_boxes(rg.tensor([[[0, 0, 0], [0, 1, 1]]]))
    tensor([[1., 1., 2., 1.]])
    """
    found = zeros((masks.shape[0], 4), dtype=float32, device=masks.device)
    for box, mask in zip(found, masks, strict=True):
        y, x = mask.nonzero(as_tuple=True)
        if y.numel():
            box[:] = stack((x.min(), y.min(), x.max(), y.max())).float()
    return found
