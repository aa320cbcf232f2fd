"""Transforms as objects, which hold their settings and act on what they are called with.

What is random draws from the generator of `manual_seed`, in torchvision's order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ... import nn
from ...ops.creation.factories import empty
from ...ops.random.factories import rand, randint
from . import functional as F
from .functional import InterpolationMode, pair

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "CenterCrop",
    "Compose",
    "ConvertImageDtype",
    "Lambda",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "Resize",
    "ToPILImage",
    "ToTensor",
]


class Compose:
    """Transforms one after the other.

    >>> from retrograd.vision import transforms
    >>> both = transforms.Compose([transforms.CenterCrop(1), transforms.Lambda(lambda x: x + 1)])
    >>> both(rg.zeros(3, 3))
    tensor([[1.]])
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        """What the last transform gives."""
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return "\n".join(["Compose(", *(f"    {each}" for each in self.transforms), ")"])


class ToTensor:
    """The tensor (C, H, W) of a picture or an array (H, W, C): `functional.to_tensor`.

    >>> rg.vision.transforms.ToTensor()(np.full((2, 2, 3), 255, np.uint8)).sum()
    tensor(12.)
    """

    def __call__(self, pic: Any) -> Any:
        """The tensor."""
        return F.to_tensor(pic)

    def __repr__(self) -> str:
        return "ToTensor()"


class Lambda:
    """Any function as a transform; raises TypeError for what cannot be called.

    >>> rg.vision.transforms.Lambda(rg.flatten)(rg.ones(2, 2))
    tensor([1., 1., 1., 1.])
    """

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        """What the function gives."""
        return self.lambd(img)

    def __repr__(self) -> str:
        return "Lambda()"


class Normalize(nn.Module):
    """(x - mean) / std by channel: `functional.normalize`.

    >>> rg.vision.transforms.Normalize([0.5], [0.25])(rg.ones(1, 1, 2))
    tensor([[[2., 2.]]])
    """

    def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:
        super().__init__()
        self.mean, self.std, self.inplace = mean, std, inplace

    def forward(self, tensor: Any) -> Any:
        """The normalized tensor."""
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def extra_repr(self) -> str:
        """The settings."""
        return f"mean={self.mean}, std={self.std}"


class Resize(nn.Module):
    """A picture at another size, (height, width) or that of the shorter side: `functional.resize`.

    >>> rg.vision.transforms.Resize(4)(rg.ones(3, 8, 16)).shape
    retrograd.Size([3, 4, 8])
    """

    def __init__(
        self,
        size: Any,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool = True,
    ) -> None:
        super().__init__()
        self.size, self.interpolation = size, interpolation
        self.max_size, self.antialias = max_size, antialias

    def forward(self, img: Any) -> Any:
        """The picture at its new size."""
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"size={self.size}, interpolation={self.interpolation.value}, "
            f"max_size={self.max_size}, antialias={self.antialias}"
        )


class CenterCrop(nn.Module):
    """The middle of a picture: `functional.center_crop`.

    >>> rg.vision.transforms.CenterCrop((1, 3))(rg.arange(9).reshape(3, 3))
    tensor([[3, 4, 5]])
    """

    def __init__(self, size: Any) -> None:
        super().__init__()
        self.size = pair(size)

    def forward(self, img: Any) -> Any:
        """The middle."""
        return F.center_crop(img, self.size)

    def extra_repr(self) -> str:
        """The size."""
        return f"size={self.size}"


class Pad(nn.Module):
    """A picture with borders: `functional.pad`.

    >>> rg.vision.transforms.Pad(1, 7)(rg.zeros(1, 1))
    tensor([[7., 7., 7.],
            [7., 0., 7.],
            [7., 7., 7.]])
    """

    def __init__(self, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def forward(self, img: Any) -> Any:
        """The picture with its borders."""
        return F.pad(img, self.padding, self.fill, self.padding_mode)

    def extra_repr(self) -> str:
        """The settings."""
        return f"padding={self.padding}, fill={self.fill}, padding_mode={self.padding_mode}"


class PILToTensor:
    """The tensor (C, H, W) of a picture, unscaled: `functional.pil_to_tensor`."""

    def __call__(self, pic: Any) -> Any:
        """The tensor."""
        return F.pil_to_tensor(pic)

    def __repr__(self) -> str:
        return "PILToTensor()"


class ToPILImage:
    """The picture of a tensor or an array: `functional.to_pil_image`."""

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        """The picture."""
        return F.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        return "ToPILImage()" if self.mode is None else f"ToPILImage(mode={self.mode})"


class ConvertImageDtype(nn.Module):
    """A tensor in another dtype, scaled: `functional.convert_image_dtype`."""

    def __init__(self, dtype: Any) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, image: Any) -> Any:
        """The tensor."""
        return F.convert_image_dtype(image, self.dtype)


def uniform(least: float, most: float) -> float:
    """A number between two."""
    return empty(1).uniform_(least, most).item()


def whole(most: int) -> int:
    """A whole number from 0 to `most`."""
    return int(randint(0, most + 1, (1,)).item())


class RandomCrop(nn.Module):
    """A part of a picture at a random place, after `functional.pad` by `padding`.

    `pad_if_needed` pads what is smaller than the part. Raises ValueError where it is smaller still.

    >>> rg.vision.transforms.RandomCrop(32, padding=4)(rg.ones(3, 32, 32)).shape
    retrograd.Size([3, 32, 32])
    """

    def __init__(
        self,
        size: Any,
        padding: Any = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size, self.padding, self.pad_if_needed = pair(size), padding, pad_if_needed
        self.fill, self.padding_mode = fill, padding_mode

    def forward(self, img: Any) -> Any:
        """The part."""
        border = (self.fill, self.padding_mode)
        if self.padding is not None:
            img = F.pad(img, self.padding, *border)
        height, width = self.size
        _, tall, wide = F.get_dimensions(img)
        if self.pad_if_needed and wide < width:
            img = F.pad(img, (width - wide, 0), *border)
        if self.pad_if_needed and tall < height:
            img = F.pad(img, (0, height - tall), *border)
        _, tall, wide = F.get_dimensions(img)
        if tall < height or wide < width:
            raise ValueError(
                f"RandomCrop: Required crop size {self.size} is larger than input image size "
                f"{(tall, wide)}. Write pad_if_needed=True"
            )
        if (tall, wide) == self.size:
            return img
        top, left = whole(tall - height), whole(wide - width)
        return F.crop(img, top, left, height, width)

    def extra_repr(self) -> str:
        """The settings."""
        return f"size={self.size}, padding={self.padding}"


class RandomHorizontalFlip(nn.Module):
    """A picture, with left and right exchanged in a share `p` of the calls.

    >>> rg.vision.transforms.RandomHorizontalFlip(p=1.0)(rg.tensor([[1, 2, 3]]))
    tensor([[3, 2, 1]])
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Any) -> Any:
        """The picture or its mirror image."""
        return F.hflip(img) if rand(1).item() < self.p else img

    def extra_repr(self) -> str:
        """The share."""
        return f"p={self.p}"


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
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
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
                top = whole(tall - height)
                return top, whole(wide - width), height, width
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

    def extra_repr(self) -> str:
        """The size, and the parts among which it chooses."""
        (low, high), (tall, wide) = ([round(n, 4) for n in x] for x in (self.scale, self.ratio))
        return (
            f"size={self.size}, scale=({low}, {high}), ratio=({tall}, {wide}), "
            f"interpolation={self.interpolation.value}, antialias={self.antialias}"
        )
