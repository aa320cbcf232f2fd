"""Files of pictures as tensors, by Pillow: torchvision's `io`, as far as pictures go."""

from __future__ import annotations

import enum
import os
from typing import TYPE_CHECKING, Any

from ..engine.tensor import Tensor
from ..locks import load

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["ImageReadMode", "decode_image", "read_image"]


class ImageReadMode(enum.Enum):
    """Which channels a picture is converted to."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4


def decode_image(
    input: Any, mode: Any = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False
) -> Tensor:
    """The picture (C, H, W), uint8, of a file's path or of its bytes, a 1-D tensor of uint8.

    `mode` is an ImageReadMode or its name. Raises RuntimeError for what Pillow cannot read.

    >>> from io import BytesIO
    >>> from retrograd.vision.io import decode_image
    >>> file = BytesIO()
    >>> __import__("PIL.Image").Image.new("L", (2, 1), 7).save(file, "png")
    >>> decode_image(rg.frombuffer(bytearray(file.getvalue()), dtype=rg.uint8), "RGB").shape
    retrograd.Size([3, 1, 2])
    """
    codecs: ModuleType = load(".codecs", __package__)
    if not isinstance(input, Tensor):
        input = codecs.read_file(os.fspath(input))
    mode = ImageReadMode[mode.upper()] if isinstance(mode, str) else mode
    found: Tensor = codecs.decode_image(input, mode.value, apply_exif_orientation)
    return found


def read_image(
    path: Any, mode: Any = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False
) -> Tensor:
    """`decode_image` of a path."""
    return decode_image(path, mode, apply_exif_orientation)
