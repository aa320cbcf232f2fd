"""Several pictures as one, and pictures as files: torchvision's `utils`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..autograd import no_grad
from ..engine.tensor import Tensor
from ..ops.shape.join import cat, stack
from .pictures import INSTALLED, picture

__all__ = ["make_grid", "save_image"]


@no_grad()
def make_grid(
    tensor: Any,
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Pictures (N, C, H, W), or a list of (C, H, W), side by side in one, `nrow` to a row.

    Those of one channel get three. `padding` pixels of `pad_value` are between them and around;
    a single picture has none. `normalize` brings values from `value_range`, or from their smallest
    and largest, all together or for each picture if `scale_each`, into [0, 1]. The result has no
    history. Raises TypeError for what is no tensor, or a `value_range` that is no pair. Source:
    torchvision's `make_grid`.

    >>> from retrograd.vision.utils import make_grid
    >>> make_grid(rg.zeros(3, 1, 4, 5), nrow=2).shape
    retrograd.Size([3, 14, 16])
    """
    if not isinstance(tensor, Tensor):
        if not isinstance(tensor, list) or not all(isinstance(t, Tensor) for t in tensor):
            raise TypeError(f"tensor or list of tensors expected, got {type(tensor)}")
        tensor = stack(tensor, 0)
    if value_range is not None and not isinstance(value_range, tuple):
        raise TypeError(
            f"value_range has to be a tuple (min, max) if specified, not {value_range!r}"
        )
    pictures: Any = tensor.reshape((*[1] * (4 - tensor.ndim), *tensor.shape))
    if pictures.shape[1] == 1:
        pictures = cat([pictures] * 3, 1)
    if normalize:
        pictures = _normalized(pictures.clone(), value_range, scale_each)
    count, channels, height, width = pictures.shape
    if count == 1:
        return pictures[0]
    columns = min(nrow, count)
    rows, height, width = math.ceil(count / columns), height + padding, width + padding
    size = (channels, height * rows + padding, width * columns + padding)
    grid = pictures.new_full(size, pad_value)
    for i, each in enumerate(pictures):
        y, x = i // columns * height + padding, i % columns * width + padding
        grid[:, y : y + height - padding, x : x + width - padding] = each
    return grid


def _normalized(pictures: Any, value_range: Any, scale_each: bool) -> Any:
    """The pictures, which are written, with values in [0, 1]."""
    for part in pictures if scale_each else [pictures]:
        low, high = value_range or (float(part.min()), float(part.max()))
        part.clamp_(low, high).sub_(low).div_(max(high - low, 1e-5))
    return pictures


def save_image(tensor: Any, fp: Any, format: str | None = None, **settings: Any) -> None:
    """Write `make_grid(tensor, **settings)`, of values in [0, 1], to a path or a file by Pillow.

    Raises ModuleNotFoundError without Pillow. Source: torchvision's `save_image`.

    >>> import io
    >>> from retrograd.vision.io import decode_image
    >>> from retrograd.vision.utils import save_image
    >>> file = io.BytesIO()
    >>> save_image(rg.ones(1, 2, 2), file, "png")
    >>> decode_image(rg.frombuffer(bytearray(file.getvalue()), dtype=rg.uint8)).shape
    retrograd.Size([3, 2, 2])
    """
    if not INSTALLED:
        raise ModuleNotFoundError("save_image() writes by Pillow: pip install pillow")
    grid = make_grid(tensor, **settings).numpy()
    pixels = np.clip(grid * 255 + 0.5, 0, 255).astype(np.uint8)
    picture(np.ascontiguousarray(pixels.transpose(1, 2, 0))).save(fp, format=format)
