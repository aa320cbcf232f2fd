"""Transforms of the colours of a picture of Pillow's, or of tensors (..., C, H, W).

Bytes are from 0 to 255, real numbers from 0 to 1. Pictures are changed by Pillow's own functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import nn
from ...dtypes import float32, uint8
from ...engine.tensor import Tensor
from ...locks import load
from ...ops.creation.factories import linspace
from ...ops.creation.from_data import from_numpy, tensor
from ...ops.elementwise.clamp_where import where
from ...ops.shape.join import stack
from ...ops.shape.split import unbind
from ..pictures import is_picture
from .basics import checked, convert_image_dtype, pair, pil_to_tensor, to_pil_image

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "autocontrast",
    "equalize",
    "gaussian_blur",
    "invert",
    "posterize",
    "rgb_to_grayscale",
    "solarize",
    "to_grayscale",
]


def white(img: Tensor) -> float:
    """The value of white."""
    return 1.0 if img.is_floating_point() else 255


def blend(img: Tensor, other: Any, ratio: float) -> Tensor:
    """A mixture, `ratio` of which is the first, within black and white."""
    return (ratio * img + (1.0 - ratio) * other).clamp(0, white(img)).to(img.dtype)


def enhanced(img: Any, kind: str, factor: float) -> Any:
    """A picture changed by one of Pillow's enhancers."""
    return getattr(load("PIL.ImageEnhance"), kind)(img).enhance(factor)


def positive(name: str, factor: float) -> None:
    """Raise ValueError for a negative factor."""
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """The lightness of colours, 0.2989 R + 0.587 G + 0.114 B, in one channel or in three.

    >>> rg.vision.transforms.functional.rgb_to_grayscale(rg.ones(3, 1, 1))
    tensor([[[0.9999]]])
    """
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    if is_picture(checked(img, "rgb_to_grayscale")):
        gray = img.convert("L")
        return gray.convert("RGB") if num_output_channels == 3 else gray
    if img.shape[-3] == 3:
        r, g, b = unbind(img, -3)
        img = (0.2989 * r + 0.587 * g + 0.114 * b).to(img.dtype).unsqueeze(-3)
    shape = (*img.shape[:-3], num_output_channels, *img.shape[-2:])
    return img.expand(shape) if num_output_channels == 3 else img.clone()


to_grayscale = rgb_to_grayscale


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """`img` times a factor: 0 is black, 1 as it was.

    >>> rg.vision.transforms.functional.adjust_brightness(rg.full((3, 1, 1), 0.5), 1.5)[0]
    tensor([[0.7500]])
    """
    positive("brightness_factor", brightness_factor)
    if is_picture(checked(img, "adjust_brightness")):
        return enhanced(img, "Brightness", brightness_factor)
    return blend(img, 0.0, brightness_factor)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """`img` as far from its mean lightness as a factor says: 0 is gray, 1 as it was.

    >>> rg.vision.transforms.functional.adjust_contrast(rg.tensor([[[0.0, 1.0]]]), 0.0)
    tensor([[[0.5000, 0.5000]]])
    """
    positive("contrast_factor", contrast_factor)
    if is_picture(checked(img, "adjust_contrast")):
        return enhanced(img, "Contrast", contrast_factor)
    dtype = img.dtype if img.is_floating_point() else float32
    mean = rgb_to_grayscale(img).to(dtype).mean((-3, -2, -1), keepdim=True)
    return blend(img, mean, contrast_factor)


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """`img` as far from gray as a factor says: 0 is gray, 1 as it was.

    >>> rg.vision.transforms.functional.adjust_saturation(rg.eye(3)[:, :1, None], 0.0)[:, 0, 0]
    tensor([0.2989, 0.2989, 0.2989])
    """
    positive("saturation_factor", saturation_factor)
    if is_picture(checked(img, "adjust_saturation")):
        return enhanced(img, "Color", saturation_factor)
    return img if img.shape[-3] == 1 else blend(img, rgb_to_grayscale(img), saturation_factor)


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """`img` with its hues turned, by -0.5 to 0.5 of the circle; ValueError for others.

    >>> rg.vision.transforms.functional.adjust_hue(rg.eye(3)[:, :1, None], 1 / 3).round()[:, 0, 0]
    tensor([0., 1., 0.])
    """
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    if is_picture(checked(img, "adjust_hue")):
        if img.mode in {"L", "1", "I", "F"}:
            return img
        hue, *rest = img.convert("HSV").split()
        turned = np.asarray(hue) + np.int32(hue_factor * 255).astype(np.uint8)
        turned = load("PIL.Image").fromarray(turned)
        return load("PIL.Image").merge("HSV", (turned, *rest)).convert(img.mode)
    if img.shape[-3] == 1:
        return img
    h, s, v = unbind(hsv_of_rgb(convert_image_dtype(img, float32)), -3)
    return convert_image_dtype(rgb_of_hsv((h + hue_factor) % 1.0, s, v), img.dtype)


def hsv_of_rgb(img: Tensor) -> Tensor:
    """Hue, saturation and value, from 0 to 1, of red, green and blue. Gray has the hue 0."""
    r, g, b = unbind(img, -3)
    most, least = img.amax(-3), img.amin(-3)
    spread = most - least
    gray = spread == 0
    s = spread / where(gray, 1.0, most)
    red, green, blue = ((most - x) / where(gray, 1.0, spread) for x in (r, g, b))
    h = where(most == r, blue - green, where(most == g, 2 + red - blue, 4 + green - red))
    return stack(((h / 6 + 1) % 1.0, s, most), -3)


def rgb_of_hsv(h: Tensor, s: Tensor, v: Tensor) -> Tensor:
    """Red, green and blue of hue, saturation and value."""
    sixth = (h * 6).floor()
    f = h * 6 - sixth
    p, q, t = ((v * (1 - s * x)).clamp(0, 1) for x in (1.0, f, 1 - f))
    sixth = sixth.long() % 6
    # What red, green and blue are in each sixth of the circle.
    cases = ((v, q, p, p, t, v), (t, v, v, q, p, p), (p, p, t, v, v, q))
    return stack([stack(c, 0).gather(0, sixth[None])[0] for c in cases], -3)


def adjust_gamma(img: Any, gamma: float, gain: float = 1) -> Any:
    """`gain` times the `gamma`-th power of `img`, which is from 0 to 1.

    >>> rg.vision.transforms.functional.adjust_gamma(rg.full((1, 1, 1), 0.5), 2)
    tensor([[[0.2500]]])
    """
    positive("gamma", gamma)
    if is_picture(checked(img, "adjust_gamma")):
        table = [int((255 + 1 - 1e-3) * gain * pow(x / 255.0, gamma)) for x in range(256)]
        rgb = img.convert("RGB")
        return rgb.point(table * 3).convert(img.mode)
    found = img if img.is_floating_point() else convert_image_dtype(img, float32)
    return convert_image_dtype((gain * found**gamma).clamp(0, 1), img.dtype)


def convolved(img: Tensor, kernel: Tensor, border: Any = None) -> Tensor:
    """Every channel convolved with a kernel, after `border`; bytes are rounded."""
    channels = img.shape[-3]
    batch = img.reshape(-1, *img.shape[-3:]).to(kernel.dtype)
    if border is not None:
        batch = nn.functional.pad(batch, border, mode="reflect")
    out = nn.functional.conv2d(batch, kernel.expand(channels, 1, *kernel.shape), groups=channels)
    out = out.reshape(*img.shape[:-2], *out.shape[-2:])
    return out if img.is_floating_point() else out.round().to(img.dtype)


def adjust_sharpness(img: Any, sharpness_factor: float) -> Any:
    """`img` as far from a smoothed one as a factor says: 0 is smoothed, 1 as it was.

    >>> rg.vision.transforms.functional.adjust_sharpness(rg.eye(3)[None], 0.0)[0, 1]
    tensor([0.0000, 0.5385, 0.0000])
    """
    positive("sharpness_factor", sharpness_factor)
    if is_picture(checked(img, "adjust_sharpness")):
        return enhanced(img, "Sharpness", sharpness_factor)
    if min(img.shape[-2:]) <= 2:
        return img
    kernel = tensor([[1.0, 1, 1], [1, 5, 1], [1, 1, 1]]) / 13
    kernel = kernel.to(img.dtype) if img.is_floating_point() else kernel
    smooth = img.clone()
    smooth[..., 1:-1, 1:-1] = convolved(img, kernel)
    return blend(img, smooth, sharpness_factor)


def gaussian_blur(img: Any, kernel_size: Any, sigma: Any = None) -> Any:
    """`img` smoothed by a Gaussian kernel of (width, height), of odd numbers, reflected outside.

    `sigma`, for x and y, is 0.15 times the size and 0.35 by default. Raises ValueError for even
    sizes and sigmas that are not positive.

    >>> rg.vision.transforms.functional.gaussian_blur(rg.eye(3)[None], 3, 1.0)[0, 1]
    tensor([0.3715, 0.3544, 0.3715])
    """
    sizes = pair(kernel_size)
    if any(size % 2 == 0 or size <= 0 for size in sizes):
        raise ValueError(f"kernel_size should have odd and positive integers. Got {kernel_size}")
    sigmas = [size * 0.15 + 0.35 for size in sizes] if sigma is None else sigma
    sigmas = [float(sigmas)] * 2 if isinstance(sigmas, (int, float)) else [*sigmas]
    if not all(each > 0 for each in sigmas):
        raise ValueError(f"sigma should have positive values. Got {sigma}")
    if is_picture(checked(img, "gaussian_blur")):
        return to_pil_image(gaussian_blur(pil_to_tensor(img), sizes, sigmas), img.mode)
    x, y = (bell(*each, img) for each in zip(sizes, (sigmas * 2)[:2], strict=True))
    half = [size // 2 for size in sizes]
    return convolved(img, y[:, None] * x, (half[0], half[0], half[1], half[1]))


def bell(size: int, sigma: float, img: Tensor) -> Tensor:
    """The normal density at so many points around 0, with sum 1."""
    half = (size - 1) * 0.5
    x = linspace(-half, half, size, dtype=img.dtype if img.is_floating_point() else float32)
    density = (-0.5 * (x / sigma).square()).exp()
    return density / density.sum()


def invert(img: Any) -> Any:
    """Black for white, and the reverse.

    >>> rg.vision.transforms.functional.invert(rg.tensor([[0, 100]], dtype=rg.uint8))
    tensor([[255, 155]], dtype=retrograd.uint8)
    """
    if is_picture(checked(img, "invert")):
        return load("PIL.ImageOps").invert(img)
    return white(img) - img


def bytes_alone(name: str, img: Tensor) -> None:
    """Raise TypeError for tensors of other dtypes than uint8."""
    if img.dtype != uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported by {name}: got {img.dtype}")


def posterize(img: Any, bits: int) -> Any:
    """Bytes with their first `bits` bits alone.

    >>> rg.vision.transforms.functional.posterize(rg.tensor([[100]], dtype=rg.uint8), 2)
    tensor([[64]], dtype=retrograd.uint8)
    """
    if not 0 <= bits <= 8:
        raise ValueError(f"The number if bits should be between 0 and 8. Got {bits}")
    if is_picture(checked(img, "posterize")):
        return load("PIL.ImageOps").posterize(img, bits)
    bytes_alone("posterize", img)
    return img & (256 - 2 ** (8 - bits)) % 256


def solarize(img: Any, threshold: float) -> Any:
    """`invert` where `img` is at least a threshold.

    >>> rg.vision.transforms.functional.solarize(rg.tensor([[0.25, 0.75]]), 0.5)
    tensor([[0.2500, 0.2500]])
    """
    if is_picture(checked(img, "solarize")):
        return load("PIL.ImageOps").solarize(img, threshold)
    if threshold > white(img):
        raise TypeError(f"Threshold should be less than bound of img, {white(img)}: {threshold}")
    return where(img >= threshold, invert(img), img)


def autocontrast(img: Any) -> Any:
    """Every channel stretched, so that it goes from black to white.

    >>> rg.vision.transforms.functional.autocontrast(rg.tensor([[[0.25, 0.5, 0.75]]]))
    tensor([[[0.0000, 0.5000, 1.0000]]])
    """
    if is_picture(checked(img, "autocontrast")):
        return load("PIL.ImageOps").autocontrast(img)
    wide = img if img.is_floating_point() else img.float()
    least, most = wide.amin((-2, -1), keepdim=True), wide.amax((-2, -1), keepdim=True)
    flat = least == most
    scale = where(flat, 1.0, white(img) / where(flat, 1.0, most - least))
    return ((wide - where(flat, 0.0, least)) * scale).clamp(0, white(img)).to(img.dtype)


def equalize(img: Any) -> Any:
    """Bytes of every channel spread, so that all are about as frequent.

    >>> rg.vision.transforms.functional.equalize(rg.tensor([[[1, 1, 2]]], dtype=rg.uint8))
    tensor([[[1, 1, 2]]], dtype=retrograd.uint8)
    """
    if is_picture(checked(img, "equalize")):
        return load("PIL.ImageOps").equalize(img)
    bytes_alone("equalize", img)
    channels = img.numpy().reshape(-1, img.shape[-2] * img.shape[-1])
    out = np.empty_like(channels)
    for before, after in zip(channels, out, strict=True):
        counts = np.bincount(before, minlength=256)
        step = (len(before) - counts[counts != 0][-1]) // 255
        table = (counts.cumsum() - counts + step // 2) // max(step, 1)
        after[:] = table.clip(0, 255)[before] if step else before
    return from_numpy(out.reshape(img.shape))
