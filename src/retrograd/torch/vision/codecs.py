"""The operators of torchvision's `torch.ops.image`, by Pillow: files of pictures as tensors.

`torch.ops.load_library` loads this module in place of torchvision's own file, where Pillow is
installed. The decoders are those of its formats: JPEG, PNG, GIF and WebP.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps, ImageSequence, UnidentifiedImageError

from ... import dtypes
from ...engine.tensor import Tensor
from ...ops.creation.from_data import from_numpy
from ..library.custom import custom_op

__all__ = ["decoded"]

MODES = ("", "L", "LA", "RGB", "RGBA")  # by torchvision's ImageReadMode
PLAIN = {"1": "L", "LA": "LA", "L": "L", "RGB": "RGB", "RGBA": "RGBA", "CMYK": "CMYK"}


def operator(function: Any) -> Any:
    """Define a function as the operator of its name."""
    return custom_op(f"image::{function.__name__}", function, mutates_args=())


def opened(input: Tensor, *formats: str) -> Any:
    """Pillow's picture of the bytes of a file, a 1-D tensor of uint8; RuntimeError for others."""
    if input.dtype is not dtypes.uint8 or input.ndim != 1 or not input.numel():
        raise RuntimeError(
            "Expected a non empty 1-dimensional tensor of dtype torch.uint8. Got "
            f"{tuple(input.shape)}, {input.dtype}"
        )
    try:
        return Image.open(io.BytesIO(input.numpy().tobytes()), formats=formats or None)
    except UnidentifiedImageError as error:
        raise RuntimeError(f"no picture that Pillow reads: {error}") from None


def decoded(picture: Any, mode: int, apply_exif_orientation: bool = False) -> Tensor:
    """A picture (C, H, W), uint8, uint16 for PNG with 16 bits, of the channels of a mode."""
    wanted = MODES[mode] or PLAIN.get(picture.mode)
    if wanted is None and picture.mode == "P":
        wanted = "RGBA" if "transparency" in picture.info else "RGB"
    deep = picture.mode.startswith("I;16")
    try:
        if wanted == "L":
            picture.draft("L", picture.size)  # a JPEG's own lightness
        picture.load()
    except (OSError, SyntaxError, ValueError) as error:
        raise RuntimeError(f"the picture's file is damaged: {error}") from None
    if apply_exif_orientation:
        picture = ImageOps.exif_transpose(picture)
    if wanted in (None, picture.mode) or (deep and wanted == "L"):
        return channels(picture)
    found = channels(picture.convert(wanted))
    if picture.format == "PNG" and picture.mode in ("RGB", "RGBA") and wanted in ("L", "LA"):
        found[0] = from_numpy(gray(np.asarray(picture)[..., :3].astype(np.int32)))
    return found


def channels(picture: Any) -> Tensor:
    """The tensor (C, H, W), uint8, of a picture."""
    array = np.asarray(picture)
    return from_numpy(array[None].copy() if array.ndim == 2 else array.transpose(2, 0, 1).copy())


def gray(pixels: np.ndarray) -> np.ndarray:
    """The lightness (H, W) of pixels (H, W, 3), in the whole numbers that libpng computes with."""
    found = (pixels @ np.array([9794, 19234, 3740], np.int32)) >> 15
    same = (pixels == pixels[..., :1]).all(-1)
    return np.where(same, pixels[..., 0], found).astype(np.uint8)


def written(input: Tensor, kind: str, **settings: Any) -> Tensor:
    """The bytes of a file of a picture (C, H, W), uint8, of 1 or 3 channels."""
    if input.dtype is not dtypes.uint8:
        raise RuntimeError(f"Input tensor dtype should be uint8, got: {input.dtype}")
    if input.ndim != 3:
        raise RuntimeError(f"Input data should be a 3-dimensional tensor, got: {input.ndim}")
    if input.shape[0] not in (1, 3):
        raise RuntimeError(f"The number of channels should be 1 or 3, got: {input.shape[0]}")
    pixels = np.ascontiguousarray(input.numpy().transpose(1, 2, 0))
    file = io.BytesIO()
    Image.fromarray(pixels[:, :, 0] if len(input) == 1 else pixels).save(file, kind, **settings)
    return from_numpy(np.frombuffer(bytearray(file.getvalue()), np.uint8))


@operator
def read_file(filename: str) -> Tensor:
    """The bytes of a file."""
    if not Path(filename).is_file():
        raise RuntimeError(f"[Errno 2] No such file or directory: '{filename}'")
    return from_numpy(np.fromfile(filename, np.uint8))


@operator
def write_file(filename: str, data: Tensor) -> None:
    """Write bytes, a 1-D tensor of uint8, to a file."""
    if data.ndim != 1:
        raise RuntimeError(f"Input tensor must be 1-dimensional: got {tuple(data.shape)}")
    if data.dtype is not dtypes.uint8:
        raise RuntimeError(f"Input tensor must have uint8 data type: got {data.dtype}")
    Path(filename).write_bytes(data.numpy().tobytes())


@operator
def decode_image(input: Tensor, mode: int = 0, apply_exif_orientation: bool = False) -> Tensor:
    """The picture of a file of any format that Pillow reads."""
    picture = opened(input)
    if picture.format == "GIF":
        return frames(picture)
    return decoded(picture, mode, apply_exif_orientation)


@operator
def decode_jpeg(input: Tensor, mode: int = 0, apply_exif_orientation: bool = False) -> Tensor:
    """The picture of a JPEG file."""
    return decoded(opened(input, "JPEG"), mode, apply_exif_orientation)


@operator
def decode_png(input: Tensor, mode: int = 0, apply_exif_orientation: bool = False) -> Tensor:
    """The picture of a PNG file."""
    return decoded(opened(input, "PNG"), mode, apply_exif_orientation)


@operator
def decode_webp(input: Tensor, mode: int = 0) -> Tensor:
    """The picture of a WebP file."""
    return decoded(opened(input, "WEBP"), mode)


def frames(picture: Any) -> Tensor:
    """The frames (N, 3, H, W) of a GIF; (3, H, W) if it is one."""
    made = [np.asarray(each.convert("RGB")) for each in ImageSequence.Iterator(picture)]
    moved = np.ascontiguousarray(np.stack(made).transpose(0, 3, 1, 2))
    return from_numpy(moved[0] if len(made) == 1 else moved)


@operator
def decode_gif(input: Tensor) -> Tensor:
    """The frames of a GIF file."""
    return frames(opened(input, "GIF"))


@operator
def encode_png(data: Tensor, compression_level: int) -> Tensor:
    """The bytes of a PNG file."""
    if not 0 <= compression_level <= 9:
        raise RuntimeError(f"Compression level should be between 0 and 9. Got {compression_level}")
    return written(data, "PNG", compress_level=compression_level)


@operator
def encode_jpeg(data: Tensor, quality: int) -> Tensor:
    """The bytes of a JPEG file."""
    return written(data, "JPEG", quality=quality)
