"""Files of pictures as tensors, by Pillow: torchvision's `io`, as far as pictures go."""

from __future__ import annotations

import enum
import io
import os
from typing import Any

from ..engine.tensor import Tensor
from ..locks import load
from .transforms.functional import pil_to_tensor

__all__ = ["ImageReadMode", "decode_image", "read_image"]


class ImageReadMode(enum.Enum):
    """Which channels a picture is converted to."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4


PILLOWS = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def decode_image(
    input: Any, mode: Any = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False
) -> Tensor:
    """The picture (C, H, W), uint8, of a file's path or of its bytes, a 1-D tensor of uint8.

    `mode` is an ImageReadMode or its name. Raises RuntimeError for what Pillow cannot read.

    >>> from retrograd.vision.io import decode_image
    >>> file = io.BytesIO()
    >>> __import__("PIL.Image").Image.new("L", (2, 1), 7).save(file, "png")
    >>> decode_image(rg.frombuffer(bytearray(file.getvalue()), dtype=rg.uint8), "RGB").shape
    retrograd.Size([3, 1, 2])
    """
    source = io.BytesIO(input.numpy().tobytes()) if isinstance(input, Tensor) else os.fspath(input)
    mode = ImageReadMode[mode.upper()] if isinstance(mode, str) else mode
    pillow = load("PIL.Image")
    try:
        picture = pillow.open(source)
        picture.load()
    except pillow.UnidentifiedImageError as error:
        raise RuntimeError(f"decode_image: no picture that Pillow reads: {error}") from None
    if apply_exif_orientation:
        picture = load("PIL.ImageOps").exif_transpose(picture)
    if mode is ImageReadMode.UNCHANGED and picture.mode == "P":
        picture = picture.convert("RGBA" if "transparency" in picture.info else "RGB")
    if mode is not ImageReadMode.UNCHANGED:
        picture = picture.convert(PILLOWS[mode.value])
    return pil_to_tensor(picture)


def read_image(
    path: Any, mode: Any = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False
) -> Tensor:
    """`decode_image` of a path."""
    return decode_image(path, mode, apply_exif_orientation)
