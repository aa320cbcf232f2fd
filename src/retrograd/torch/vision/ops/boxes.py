"""The choice of the best among boxes that overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....ops.creation.from_data import from_numpy

if TYPE_CHECKING:
    from ....engine.tensor import Tensor

__all__ = ["nms"]


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Indices (K,), int64, of the boxes (N, 4) that no better one overlaps too much, best first.

    A box is (x1, y1, x2, y2), two opposite corners. The box of the highest score (N,) stays, and
    drops all whose intersection over union with it is above `iou_threshold`; so on with the next.
    Equal scores keep their order. Raises RuntimeError for other shapes.

    >>> boxes = rg.tensor([[0.0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6]])
    >>> rg.vision.ops.nms(boxes, rg.tensor([0.5, 0.9, 0.7]), 0.5)
    tensor([1, 2])
    """
    if boxes.ndim != 2 or boxes.shape[1] != 4 or scores.shape != boxes.shape[:1]:
        raise RuntimeError(
            "nms: boxes should be a 2d tensor (N, 4) and scores have N elements. Got "
            f"{tuple(boxes.shape)} and {tuple(scores.shape)}"
        )
    corners = boxes.detach().numpy()
    order = scores.detach().argsort(descending=True, stable=True).numpy()
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
        order = rest[~(overlap > iou_threshold)]
    return from_numpy(np.array(kept, np.int64))
