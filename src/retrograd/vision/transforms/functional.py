"""What all transforms begin with: conversions, sizes, parts and borders."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from ... import nn
from ...dtypes import boolean, float32, get_default_dtype, iinfo, int32, int64
from ...engine.tensor import Tensor
from ...ops.creation.from_data import as_tensor, from_numpy
from ..pictures import is_picture, picture

__all__ = [
    "InterpolationMode",
    "center_crop",
    "convert_image_dtype",
    "crop",
    "get_dimensions",
    "hflip",
    "normalize",
    "pad",
    "pil_to_tensor",
    "resize",
    "resized_crop",
    "to_pil_image",
    "to_tensor",
]

NEITHER = (
    "{name}: img should be a picture of Pillow's or a Tensor (..., H, W). Got {kind}. Begin with "
    "transforms.ToTensor(), which takes arrays, too"
)


class InterpolationMode(enum.Enum):
    """How `resize` finds values between pixels; the last three of pictures of Pillow's alone."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


PILLOWS = dict(zip(InterpolationMode, (0, 0, 2, 3, 4, 5, 1), strict=True))


def checked(img: Any, name: str) -> Any:
    """A picture or a tensor; raises TypeError for what is neither."""
    if is_picture(img) or (isinstance(img, Tensor) and img.ndim >= 2):
        return img
    kind = f"a tensor {tuple(img.shape)}" if isinstance(img, Tensor) else type(img).__name__
    raise TypeError(NEITHER.format(name=name, kind=kind))


def get_dimensions(img: Any) -> list[int]:
    """[channels, height, width] of a picture or a tensor (..., H, W).

    >>> rg.vision.transforms.functional.get_dimensions(rg.ones(3, 4, 5))
    [3, 4, 5]
    """
    if is_picture(checked(img, "get_dimensions")):
        return [len(img.getbands()), img.height, img.width]
    return [1 if img.ndim == 2 else img.shape[-3], *img.shape[-2:]]


def pil_to_tensor(pic: Any) -> Tensor:
    """The tensor (C, H, W) of a picture, of its own dtype, unscaled; TypeError for anything else.

    >>> Image = __import__("PIL.Image").Image
    >>> rg.vision.transforms.functional.pil_to_tensor(Image.new("L", (2, 1), 7))
    tensor([[[7, 7]]], dtype=retrograd.uint8)
    """
    if not is_picture(pic):
        raise TypeError(
            f"pil_to_tensor: pic should be PIL Image. Got {type(pic).__name__}. Of an array: "
            "to_tensor(array)"
        )
    array = np.array(pic, copy=True)
    array = array[None] if array.ndim == 2 else array.transpose(2, 0, 1)
    return from_numpy(np.ascontiguousarray(array))


def to_tensor(pic: Any) -> Tensor:
    """The tensor (C, H, W) of a picture or an array (H, W) or (H, W, C).

    Bytes become numbers of the default dtype from 0 to 1; other dtypes stay as they are. Raises
    TypeError for anything else, ValueError for other numbers of dimensions.

    >>> rg.vision.transforms.functional.to_tensor(np.array([[0, 51]], np.uint8))
    tensor([[[0.0000, 0.2000]]])
    """
    if not is_picture(pic) and not isinstance(pic, np.ndarray):
        raise TypeError(
            f"to_tensor: pic should be PIL Image or ndarray. Got {type(pic).__name__}. A tensor "
            "needs no conversion: write x.float() / 255"
        )
    array = np.array(pic)
    if array.ndim not in (2, 3):
        raise ValueError(
            f"to_tensor: pic should be 2/3 dimensional. Got {array.ndim} dimensions. Convert "
            "pictures one at a time"
        )
    if is_picture(pic) and array.dtype == bool:
        array = array * np.uint8(255)
    array = array[None] if array.ndim == 2 else array.transpose(2, 0, 1)
    found = from_numpy(np.ascontiguousarray(array))
    return found.to(get_default_dtype()) / 255 if array.dtype == np.uint8 else found


def convert_image_dtype(image: Tensor, dtype: Any = None) -> Tensor:
    """`image` in another dtype, its values scaled: a dtype's largest number is white, 1.0 too.

    The default dtype by default. Raises RuntimeError where numbers are too coarse for whole ones:
    float32 to int32, and any to int64.

    >>> rg.vision.transforms.functional.convert_image_dtype(rg.tensor([0, 51], dtype=rg.uint8))
    tensor([0.0000, 0.2000])
    """
    dtype = dtype or get_default_dtype()
    if image.dtype == dtype:
        return image
    if image.is_floating_point():
        if dtype.is_floating_point:
            return image.to(dtype)
        if dtype == int64 or (dtype == int32 and image.dtype.itemsize <= float32.itemsize):
            raise RuntimeError(
                f"The cast from {image.dtype} to {dtype} cannot be performed safely: its numbers "
                "are too coarse. Write image.double(), or a smaller dtype"
            )
        return (image * (white(dtype) + 1 - 1e-3)).to(dtype)
    if dtype.is_floating_point:
        return image.to(dtype) / white(image.dtype)
    more, less = (white(each) + 1 for each in (dtype, image.dtype))
    return image.to(dtype) * (more // less) if more > less else (image // (less // more)).to(dtype)


def white(dtype: Any) -> int:
    """The largest whole number of a dtype."""
    return 1 if dtype == boolean else iinfo(dtype).max


def normalize(tensor: Tensor, mean: Any, std: Any, inplace: bool = False) -> Tensor:
    """(tensor - mean) / std by channel, for floating-point tensors (..., C, H, W).

    Raises TypeError for other dtypes, ValueError for fewer dimensions and a `std` with zeros.

    >>> rg.vision.transforms.functional.normalize(rg.ones(1, 1, 2), [0.5], [0.25])
    tensor([[[2., 2.]]])
    """
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
        kind = tensor.dtype if isinstance(tensor, Tensor) else type(tensor).__name__
        raise TypeError(
            f"normalize: Input tensor should be a float tensor. Got {kind}. Write "
            "transforms.ToTensor() before it, or x.float() / 255"
        )
    if tensor.ndim < 3:
        raise ValueError(
            "normalize: Expected tensor to be a tensor image of size (..., C, H, W). Got "
            f"{tuple(tensor.shape)}. For one channel: x[None]"
        )
    center = as_tensor(mean, dtype=tensor.dtype)
    scale = as_tensor(std, dtype=tensor.dtype)
    if (scale == 0).any():
        raise ValueError(
            f"normalize: std evaluated to zero after conversion to {tensor.dtype}, leading to "
            f"division by zero. Got {std}"
        )
    center, scale = (t.view(-1, 1, 1) if t.ndim == 1 else t for t in (center, scale))
    out = tensor if inplace else tensor.clone()
    return out.sub_(center).div_(scale)


def sizes(height: int, width: int, size: Any, max_size: int | None) -> tuple[int, int]:
    """The height and width that `resize` makes: an int is that of the shorter side."""
    wanted = [size] if isinstance(size, int) else [*size]
    if len(wanted) not in (1, 2) or (len(wanted) == 2 and max_size is not None):
        raise ValueError(
            f"resize: size should be an int, (size,) or (height, width), with max_size for the "
            f"first two alone. Got {size} and max_size={max_size}"
        )
    if len(wanted) == 2:
        return wanted[0], wanted[1]
    short, long = sorted((height, width))
    less, more = wanted[0], int(wanted[0] * long / short)
    if max_size is not None:
        if max_size <= less:
            raise ValueError(
                f"resize: max_size = {max_size} must be strictly greater than the requested size "
                f"for the smaller edge size = {size}"
            )
        if more > max_size:
            less, more = int(max_size * less / more), max_size
    return (more, less) if width <= height else (less, more)


def resize(
    img: Any,
    size: Any,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool = True,
) -> Any:
    """`img` at `size`, which is (height, width), or the length of the shorter side.

    The longer side is then at most `max_size`. Tensors of bytes are rounded. Pictures are always
    smoothed where they shrink, tensors with `antialias`. Raises ValueError for other sizes, and
    for modes that tensors have not.

    >>> rg.vision.transforms.functional.resize(rg.ones(3, 8, 16), 4).shape
    retrograd.Size([3, 4, 8])
    """
    _, height, width = get_dimensions(img)
    mode = InterpolationMode(interpolation)
    new = sizes(height, width, size, max_size)
    if is_picture(img):
        return img.resize(new[::-1], PILLOWS[mode])
    if PILLOWS[mode] not in (0, 2, 3):
        raise ValueError(
            f"resize: This interpolation mode is unsupported with Tensor input: {mode}. Use "
            "BILINEAR with antialias, or a picture of Pillow's"
        )
    if new == (height, width):
        return img
    batch = img.reshape(-1, 1, height, width)
    smooth = PILLOWS[mode] != 0
    if smooth and not img.is_floating_point():
        batch = batch.float()
    found = nn.functional.interpolate(batch, new, mode=mode.value, antialias=smooth and antialias)
    if not img.is_floating_point() and smooth:
        info = np.iinfo(img.numpy().dtype)
        found = found.clamp(int(info.min), int(info.max)).round().to(img.dtype)
    return found.reshape(*img.shape[:-2], *new)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """The part of `img` of that size whose first pixel is at (top, left); zeros where it has none.

    >>> rg.vision.transforms.functional.crop(rg.arange(6).reshape(2, 3), 0, 1, 1, 2)
    tensor([[1, 2]])
    """
    if is_picture(checked(img, "crop")):
        return img.crop((left, top, left + width, top + height))
    bottom, right = top + height, left + width
    tall, wide = img.shape[-2:]
    found = img[..., max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
    if top >= 0 and left >= 0 and bottom <= tall and right <= wide:
        return found
    before = (min(max(-left, 0), width), min(max(-top, 0), height))
    after = (width - found.shape[-1] - before[0], height - found.shape[-2] - before[1])
    return nn.functional.pad(found, (before[0], after[0], before[1], after[1]))


def center_crop(img: Any, output_size: Any) -> Any:
    """The middle of `img`, of an int's size or (height, width); zeros around what is smaller.

    >>> rg.vision.transforms.functional.center_crop(rg.arange(9).reshape(3, 3), 1)
    tensor([[4]])
    """
    height, width = pair(output_size)
    _, tall, wide = get_dimensions(img)
    if width > wide or height > tall:
        x, y = max(width - wide, 0), max(height - tall, 0)
        img = pad(img, (x // 2, y // 2, (x + 1) // 2, (y + 1) // 2))
        _, tall, wide = get_dimensions(img)
    return crop(img, round((tall - height) / 2.0), round((wide - width) / 2.0), height, width)


def pad(img: Any, padding: Any, fill: Any = 0, padding_mode: Any = "constant") -> Any:
    """`img` with borders: one width, (left and right, top and bottom), or all four clockwise.

    The four begin at the left. `padding_mode` is "constant", with `fill`, "edge", "reflect" or
    "symmetric". Raises ValueError for other modes and other numbers of widths.

    >>> rg.vision.transforms.functional.pad(rg.ones(1, 1), (1, 0))
    tensor([[0., 1., 0.]])
    """
    widths = [padding] if isinstance(padding, int) else [*padding]
    if len(widths) not in (1, 2, 4):
        raise ValueError(
            f"pad: Padding must be an int or a 1, 2, or 4 element tuple, not a {len(widths)} "
            "element tuple"
        )
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError(
            "pad: Padding mode should be either constant, edge, reflect or symmetric. Got "
            f"{padding_mode!r}"
        )
    left, top, right, bottom = (widths * 4)[:4]
    options = {"constant_values": fill} if padding_mode == "constant" else {}
    if is_picture(checked(img, "pad")):
        array = np.asarray(img)
        around = ((top, bottom), (left, right), (0, 0))[: array.ndim]
        return picture(np.pad(array, around, padding_mode, **options), img.mode)
    if padding_mode == "constant":
        return nn.functional.pad(img, (left, right, top, bottom), value=fill)
    rows, columns = (
        from_numpy(np.pad(np.arange(length), around, padding_mode))
        for length, around in zip(img.shape[-2:], ((top, bottom), (left, right)), strict=True)
    )
    return img[..., rows, :][..., columns]


def resized_crop(
    img: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Any,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    antialias: bool = True,
) -> Any:
    """The part of `img` that `crop` gives, at another size.

    >>> rg.vision.transforms.functional.resized_crop(rg.ones(3, 4, 4), 0, 0, 2, 2, 5).shape
    retrograd.Size([3, 5, 5])
    """
    part = crop(img, top, left, height, width)
    return resize(part, size, interpolation, antialias=antialias)


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """The picture of a tensor (C, H, W) or (H, W), or of an array (H, W, C) or (H, W).

    Real tensors go from 0 to 1. Raises TypeError for anything else, ValueError for other numbers
    of dimensions and of channels than 1 to 4.

    >>> rg.vision.transforms.functional.to_pil_image(rg.ones(3, 4, 5)).size
    (5, 4)
    """
    if not isinstance(pic, (Tensor, np.ndarray)):
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic).__name__}.")
    if isinstance(pic, Tensor):
        if pic.is_floating_point() and mode != "F":
            pic = pic.mul(255).byte()
        array = pic.detach().numpy()
        array = array.transpose(1, 2, 0) if array.ndim == 3 else array
    else:
        array = pic
    if array.ndim not in (2, 3) or (array.ndim == 3 and not 1 <= array.shape[2] <= 4):
        raise ValueError(
            f"pic should be 2/3 dimensional, of 1 to 4 channels. Got the shape {tuple(pic.shape)}"
        )
    array = array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array
    return picture(np.ascontiguousarray(array), mode)


def hflip(img: Any) -> Any:
    """`img` with left and right exchanged.

    >>> rg.vision.transforms.functional.hflip(rg.tensor([[1, 2, 3]]))
    tensor([[3, 2, 1]])
    """
    return img.transpose(0) if is_picture(checked(img, "hflip")) else img.flip(-1)


def pair(size: Any) -> tuple[int, int]:
    """(height, width) of an int or a sequence of one or two; raises ValueError for others."""
    found = [size] if isinstance(size, int) else [*size]
    if len(found) not in (1, 2):
        raise ValueError(f"Please provide only two dimensions (h, w) for size. Got {size}")
    return found[0], found[-1]
