"""Transforms that draw from the generator of `manual_seed`, in torchvision's order."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

from ... import nn
from ...engine.tensor import Tensor
from ...ops.creation.factories import empty
from ...ops.creation.from_data import as_tensor
from ...ops.random.factories import rand, randint, randperm
from . import functional as F
from .basics import InterpolationMode, pair

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "ColorJitter",
    "GaussianBlur",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChoice",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomInvert",
    "RandomOrder",
    "RandomPerspective",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSolarize",
    "RandomVerticalFlip",
]

NEAREST, BILINEAR = InterpolationMode.NEAREST, InterpolationMode.BILINEAR


def uniform(least: float, most: float) -> float:
    """A number between two."""
    return empty(1).uniform_(least, most).item()


def whole(least: int, most: int) -> int:
    """A whole number from `least` to below `most`."""
    return int(randint(least, most, (1,)).item())


def around(value: Any, center: float, name: str, most: float = math.inf) -> Any:
    """(least, greatest) of a number, the distance from `center`, or as they are; None for none."""
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be non negative.")
        value = (max(center - value, 0.0 if center else -value), center + value)
    least, greatest = map(float, value)
    if not -most <= least <= greatest <= most or (center and least < 0):
        raise ValueError(f"{name} values should be between bounds, but got {value}.")
    return None if least == greatest == center else (least, greatest)


class Chosen(nn.Module):
    """Base of what happens in a share `p` of the calls: `changed`."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Any) -> Any:
        """The picture, or the changed one."""
        return self.changed(img) if rand(1).item() < self.p else img

    def changed(self, img: Any) -> Any:
        """To be written by the subclass."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        """The share."""
        return f"p={self.p}"


class RandomVerticalFlip(Chosen):
    """`functional.vflip` in a share `p` of the calls.

    >>> rg.vision.transforms.RandomVerticalFlip(1.0)(rg.tensor([[1], [2]])).tolist()
    [[2], [1]]
    """

    def changed(self, img: Any) -> Any:
        """The picture upside down."""
        return F.vflip(img)


class RandomGrayscale(Chosen):
    """`functional.rgb_to_grayscale` in a share `p` of the calls, in as many channels as before.

    >>> rg.vision.transforms.RandomGrayscale(1.0)(rg.ones(3, 1, 1)).shape
    retrograd.Size([3, 1, 1])
    """

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def changed(self, img: Any) -> Any:
        """The gray picture."""
        return F.rgb_to_grayscale(img, F.get_dimensions(img)[0])


class RandomInvert(Chosen):
    """`functional.invert` in a share `p` of the calls."""

    def changed(self, img: Any) -> Any:
        """The negative."""
        return F.invert(img)


class RandomAutocontrast(Chosen):
    """`functional.autocontrast` in a share `p` of the calls."""

    def changed(self, img: Any) -> Any:
        """The stretched picture."""
        return F.autocontrast(img)


class RandomEqualize(Chosen):
    """`functional.equalize` in a share `p` of the calls."""

    def changed(self, img: Any) -> Any:
        """The spread picture."""
        return F.equalize(img)


class RandomPosterize(Chosen):
    """`functional.posterize` in a share `p` of the calls."""

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        self.bits = bits

    def changed(self, img: Any) -> Any:
        """The picture of fewer bits."""
        return F.posterize(img, self.bits)


class RandomSolarize(Chosen):
    """`functional.solarize` in a share `p` of the calls."""

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = threshold

    def changed(self, img: Any) -> Any:
        """The picture with what is light inverted."""
        return F.solarize(img, self.threshold)


class RandomAdjustSharpness(Chosen):
    """`functional.adjust_sharpness` in a share `p` of the calls."""

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def changed(self, img: Any) -> Any:
        """The sharpened picture."""
        return F.adjust_sharpness(img, self.sharpness_factor)


class RandomApply(nn.Module):
    """Transforms one after the other, in a share `p` of the calls.

    >>> double = rg.vision.transforms.Lambda(lambda x: 2 * x)
    >>> rg.vision.transforms.RandomApply([double], 1.0)(rg.ones(1, 1))
    tensor([[2.]])
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]], p: float = 0.5) -> None:
        super().__init__()
        self.transforms, self.p = transforms, p

    def forward(self, img: Any) -> Any:
        """The picture, or what the transforms make of it."""
        if self.p < rand(1).item():
            return img
        for transform in self.transforms:
            img = transform(img)
        return img


class RandomChoice(nn.Module):
    """One of some transforms, by weights `p`, chosen by Python's `random`."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]], p: Any = None) -> None:
        super().__init__()
        self.transforms, self.p = transforms, p

    def forward(self, img: Any) -> Any:
        """What the chosen one gives."""
        return random.choices(self.transforms, weights=self.p)[0](img)


class RandomOrder(nn.Module):
    """All of some transforms, in an order of Python's `random`."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        super().__init__()
        self.transforms = transforms

    def forward(self, img: Any) -> Any:
        """What the last one gives."""
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for n in order:
            img = self.transforms[n](img)
        return img


class RandomResizedCrop(nn.Module):
    """A part of a picture, of a share `scale` of its area and a `ratio` of sides, at a new size.

    >>> rg.vision.transforms.RandomResizedCrop(4)(rg.ones(3, 9, 7)).shape
    retrograd.Size([3, 4, 4])
    """

    def __init__(
        self,
        size: Any,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: InterpolationMode = BILINEAR,
        antialias: bool = True,
    ) -> None:
        super().__init__()
        self.size, self.scale, self.ratio = pair(size), scale, ratio
        self.interpolation, self.antialias = interpolation, antialias

    @staticmethod
    def get_params(img: Any, scale: Any, ratio: Any) -> tuple[int, int, int, int]:
        """(top, left, height, width) of a part."""
        _, tall, wide = F.get_dimensions(img)
        for _ in range(10):
            area = tall * wide * uniform(*scale)
            shape = math.exp(uniform(math.log(ratio[0]), math.log(ratio[1])))
            width, height = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if 0 < width <= wide and 0 < height <= tall:
                top = whole(0, tall - height + 1)
                return top, whole(0, wide - width + 1), height, width
        width, height = wide, tall
        if wide / tall < min(ratio):
            height = round(width / min(ratio))
        elif wide / tall > max(ratio):
            width = round(height * max(ratio))
        return (tall - height) // 2, (wide - width) // 2, height, width

    def forward(self, img: Any) -> Any:
        """The part."""
        part = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *part, self.size, self.interpolation, self.antialias)


class ColorJitter(nn.Module):
    """Brightness, contrast, saturation and hue changed, in a random order.

    Each is a number, how far factors are from 1 (the hue from 0), or their (least, greatest).

    >>> rg.vision.transforms.ColorJitter(0.5, hue=0.1)(rg.ones(3, 2, 2)).shape
    retrograd.Size([3, 2, 2])
    """

    def __init__(
        self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0
    ) -> None:
        super().__init__()
        self.brightness = around(brightness, 1, "brightness")
        self.contrast = around(contrast, 1, "contrast")
        self.saturation = around(saturation, 1, "saturation")
        self.hue = around(hue, 0, "hue", 0.5)

    @staticmethod
    def get_params(brightness: Any, contrast: Any, saturation: Any, hue: Any) -> Any:
        """The order of the four, and a number or None for each."""
        order = randperm(4)
        bounds = (brightness, contrast, saturation, hue)
        return order, *(None if each is None else uniform(*each) for each in bounds)

    def forward(self, img: Any) -> Any:
        """The changed picture."""
        bounds = (self.brightness, self.contrast, self.saturation, self.hue)
        order, *factors = self.get_params(*bounds)
        steps = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
        for n in order.tolist():
            if factors[n] is not None:
                img = steps[n](img, factors[n])
        return img


class RandomRotation(nn.Module):
    """`functional.rotate` by an angle of (least, greatest) `degrees`, or of -degrees to degrees.

    >>> rg.vision.transforms.RandomRotation(10)(rg.ones(1, 4, 4)).shape
    retrograd.Size([1, 4, 4])
    """

    def __init__(
        self,
        degrees: Any,
        interpolation: InterpolationMode = NEAREST,
        expand: bool = False,
        center: Any = None,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.degrees = around(degrees, 0, "degrees") or (0.0, 0.0)
        self.interpolation, self.expand = interpolation, expand
        self.center, self.fill = center, fill

    def forward(self, img: Any) -> Any:
        """The turned picture."""
        settings = (self.interpolation, self.expand, self.center, self.fill)
        return F.rotate(img, uniform(*self.degrees), *settings)


class RandomAffine(nn.Module):
    """`functional.affine` by random angles, shares `translate` of the size, scales and shears.

    >>> rg.vision.transforms.RandomAffine(10, (0.1, 0.1), (0.9, 1.1), 5)(rg.ones(1, 4, 4)).shape
    retrograd.Size([1, 4, 4])
    """

    def __init__(
        self,
        degrees: Any,
        translate: Any = None,
        scale: Any = None,
        shear: Any = None,
        interpolation: InterpolationMode = NEAREST,
        fill: Any = 0,
        center: Any = None,
    ) -> None:
        super().__init__()
        self.degrees = around(degrees, 0, "degrees") or (0.0, 0.0)
        self.translate, self.scale = translate, scale
        self.shear = (-shear, shear) if isinstance(shear, (int, float)) else shear
        self.interpolation, self.fill, self.center = interpolation, fill, center

    @staticmethod
    def get_params(degrees: Any, translate: Any, scale: Any, shear: Any, size: Any) -> Any:
        """Angle, (right, down), scale and (x, y) shears for a picture of a size (W, H)."""
        angle, moves, factor, shears = uniform(*degrees), (0, 0), 1.0, [0.0, 0.0]
        if translate is not None:
            far = [share * side for share, side in zip(translate, size, strict=True)]
            moves = (round(uniform(-far[0], far[0])), round(uniform(-far[1], far[1])))
        if scale is not None:
            factor = uniform(*scale)
        if shear is not None:
            shears[0] = uniform(shear[0], shear[1])
            shears[1] = uniform(shear[2], shear[3]) if len(shear) == 4 else 0.0
        return angle, moves, factor, shears

    def forward(self, img: Any) -> Any:
        """The moved picture."""
        _, tall, wide = F.get_dimensions(img)
        bounds = (self.degrees, self.translate, self.scale, self.shear)
        angle, moves, factor, shears = self.get_params(*bounds, (wide, tall))
        settings = (self.interpolation, self.fill, self.center)
        return F.affine(img, angle, moves, factor, shears, *settings)


class RandomPerspective(Chosen):
    """`functional.perspective` with moved corners, in a share `p` of the calls.

    >>> rg.vision.transforms.RandomPerspective(0.5, 1.0)(rg.ones(1, 4, 4)).shape
    retrograd.Size([1, 4, 4])
    """

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: InterpolationMode = BILINEAR,
        fill: Any = 0,
    ) -> None:
        super().__init__(p)
        self.distortion_scale, self.interpolation, self.fill = distortion_scale, interpolation, fill

    @staticmethod
    def get_params(width: int, height: int, distortion_scale: float) -> Any:
        """The corners of a picture, clockwise from the upper left, and where they go."""
        x, y = int(distortion_scale * (width // 2)), int(distortion_scale * (height // 2))
        left, right = (0, x + 1), (width - x - 1, width)
        top, bottom = (0, y + 1), (height - y - 1, height)
        places = ((left, top), (right, top), (right, bottom), (left, bottom))
        ends = [[whole(*a), whole(*b)] for a, b in places]
        w, h = width - 1, height - 1
        return [[0, 0], [w, 0], [w, h], [0, h]], ends

    def changed(self, img: Any) -> Any:
        """The picture seen from elsewhere."""
        _, tall, wide = F.get_dimensions(img)
        start, end = self.get_params(wide, tall, self.distortion_scale)
        return F.perspective(img, start, end, self.interpolation, self.fill)


class RandomErasing(Chosen):
    """A tensor (..., C, H, W) with a part set to `value`, or noise ("random"), in a share `p`.

    The part has a share `scale` of the area and a `ratio` of sides.

    >>> (rg.vision.transforms.RandomErasing(1.0)(rg.ones(3, 8, 8)) == 0).any()
    tensor(True)
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: tuple[float, float] = (0.02, 0.33),
        ratio: tuple[float, float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
    ) -> None:
        super().__init__(p)
        self.scale, self.ratio, self.value, self.inplace = scale, ratio, value, inplace

    def changed(self, img: Tensor) -> Tensor:
        """The tensor without a part; as it was where none of ten fits."""
        channels, tall, wide = img.shape[-3:]
        for _ in range(10):
            area = tall * wide * uniform(*self.scale)
            shape = math.exp(uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            height, width = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if height < tall and width < wide:
                if self.value == "random":
                    value = empty(channels, height, width).normal_()
                else:
                    value = as_tensor(self.value, dtype=img.dtype).reshape(-1, 1, 1)
                top = whole(0, tall - height + 1)
                left = whole(0, wide - width + 1)
                return F.erase(img, top, left, height, width, value, self.inplace)
        return img


class GaussianBlur(nn.Module):
    """`functional.gaussian_blur` by a sigma of (least, greatest), or the one number.

    >>> rg.vision.transforms.GaussianBlur(3)(rg.ones(1, 4, 4)).shape
    retrograd.Size([1, 4, 4])
    """

    def __init__(self, kernel_size: Any, sigma: Any = (0.1, 2.0)) -> None:
        super().__init__()
        self.kernel_size = pair(kernel_size)
        self.sigma = (sigma, sigma) if isinstance(sigma, (int, float)) else sigma

    def forward(self, img: Any) -> Any:
        """The smoothed picture."""
        sigma = uniform(*self.sigma)
        return F.gaussian_blur(img, self.kernel_size, [sigma, sigma])
