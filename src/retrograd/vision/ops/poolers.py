"""Regions of several feature maps, each of the map that fits its size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ... import nn
from ...ops.creation.factories import full
from ...ops.shape.join import cat
from .boxes import box_area
from .regions import both, roi_align

if TYPE_CHECKING:
    from ...engine.tensor import Tensor

__all__ = ["LevelMapper", "MultiScaleRoIAlign"]


class LevelMapper:
    """The number of the map for each box, from `k_min` to `k_max`, which become 0 and up.

    Boxes of `canonical_scale` squared pixels are of `canonical_level`, of four times the area one
    higher. Source: T.-Y. Lin et al., "Feature pyramids" (2017).
    """

    def __init__(
        self,
        k_min: int,
        k_max: int,
        canonical_scale: int = 224,
        canonical_level: int = 4,
        eps: float = 1e-6,
    ) -> None:
        self.k_min, self.k_max, self.eps = k_min, k_max, eps
        self.s0, self.lvl0 = canonical_scale, canonical_level

    def __call__(self, boxlists: list[Tensor]) -> Tensor:
        """Numbers (K,), int64, for boxes (L, 4) of every picture."""
        sides = cat([box_area(boxes) for boxes in boxlists]).sqrt()
        levels = (self.lvl0 + (sides / self.s0).log2() + self.eps).floor()
        return levels.clamp(self.k_min, self.k_max).long() - self.k_min


class MultiScaleRoIAlign(nn.Module):
    """`roi_align` on the maps of a pyramid whose names are in `featmap_names`.

    Called with a dict of maps, boxes (L, 4) of every picture, and the pictures' (height, width).

    >>> pool = rg.vision.ops.MultiScaleRoIAlign(["a", "b"], 3, 2)
    >>> maps = {"a": rg.ones(1, 5, 32, 32), "b": rg.ones(1, 5, 16, 16)}
    >>> pool(maps, [rg.tensor([[0.0, 0, 40, 40]])], [(128, 128)]).shape
    retrograd.Size([1, 5, 3, 3])
    """

    def __init__(
        self,
        featmap_names: list[str],
        output_size: Any,
        sampling_ratio: int,
        *,
        canonical_scale: int = 224,
        canonical_level: int = 4,
    ) -> None:
        super().__init__()
        self.featmap_names, self.sampling_ratio = featmap_names, sampling_ratio
        self.output_size = both(output_size)
        self.canonical_scale, self.canonical_level = canonical_scale, canonical_level

    def forward(
        self, x: dict[str, Tensor], boxes: list[Tensor], image_shapes: list[tuple[int, int]]
    ) -> Tensor:
        """The regions (K, C, P, Q) in the order of the boxes."""
        maps = [x[name] for name in x if name in self.featmap_names]
        if not maps or not image_shapes:
            raise ValueError(
                f"MultiScaleRoIAlign: none of {self.featmap_names} is among the maps {list(x)}, or "
                "images list should not be empty"
            )
        tall = max(height for height, _ in image_shapes)
        scales = [2.0 ** round(math.log2(each.shape[-2] / tall)) for each in maps]
        numbers = [full((len(each), 1), float(n)).to(each) for n, each in enumerate(boxes)]
        rois = cat([cat(rows, 1) for rows in zip(numbers, boxes, strict=True)])
        settings = (self.output_size, self.sampling_ratio)
        if len(maps) == 1:
            return roi_align(maps[0], rois, settings[0], scales[0], settings[1])
        ends = (int(-math.log2(scales[0])), int(-math.log2(scales[-1])))
        levels = LevelMapper(*ends, self.canonical_scale, self.canonical_level)(boxes)
        shape = (len(rois), maps[0].shape[1], *self.output_size)
        result = full(shape, 0.0, dtype=maps[0].dtype, device=maps[0].device)
        for level, (each, scale) in enumerate(zip(maps, scales, strict=True)):
            (own,) = (levels == level).nonzero(as_tuple=True)
            result[own] = roi_align(each, rois[own], settings[0], scale, settings[1])
        return result

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"featmap_names={self.featmap_names}, output_size={self.output_size}, "
            f"sampling_ratio={self.sampling_ratio}"
        )
