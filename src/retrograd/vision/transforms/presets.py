"""What prepares pictures for models as their training did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import nn
from ...dtypes import float32
from ...engine.tensor import Tensor
from . import functional as F

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ImageClassification"]


class ImageClassification(nn.Module):
    """The middle of a picture at another size, as normalized numbers (..., C, crop, crop).

    >>> rg.vision.models.ResNet18_Weights.DEFAULT.transforms()(rg.ones(3, 300, 400)).shape
    retrograd.Size([3, 224, 224])
    """

    def __init__(
        self,
        *,
        crop_size: int,
        resize_size: int = 256,
        mean: Sequence[float] = (0.485, 0.456, 0.406),
        std: Sequence[float] = (0.229, 0.224, 0.225),
        interpolation: F.InterpolationMode = F.InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.crop_size, self.resize_size = [crop_size], [resize_size]
        self.mean, self.std = list(mean), list(std)
        self.interpolation, self.antialias = interpolation, antialias

    def forward(self, img: Any) -> Tensor:
        """The numbers."""
        img = F.resize(img, self.resize_size, self.interpolation, antialias=bool(self.antialias))
        img = F.center_crop(img, self.crop_size)
        img = img if isinstance(img, Tensor) else F.pil_to_tensor(img)
        return F.normalize(F.convert_image_dtype(img, float32), self.mean, self.std)

    def __repr__(self) -> str:
        names = ("crop_size", "resize_size", "mean", "std", "interpolation")
        lines = "".join(f"\n    {name}={getattr(self, name)}" for name in names)
        return f"{type(self).__name__}({lines}\n)"
