"""Data sets without files: random pictures, and digits that come with scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...locks import load
from ...ops.creation.from_data import from_numpy
from ...ops.random.factories import randint, randn
from ...ops.random.generator import Generator
from ..pictures import picture
from .vision import VisionDataset

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Digits", "FakeData"]


class FakeData(VisionDataset):
    """`size` pictures of noise, (channels, H, W) = `image_size`, of random classes.

    Sample i is drawn from the seed `random_offset` + i: the same each time. Raises IndexError
    beyond `size`.

    >>> data = rg.vision.datasets.FakeData(10, (3, 8, 8), transform=rg.vision.transforms.ToTensor())
    >>> len(data), data[0][0].shape
    (10, retrograd.Size([3, 8, 8]))
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, ...] = (3, 224, 224),
        num_classes: int = 10,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__(None, transform, target_transform)
        self.size, self.image_size, self.num_classes = size, image_size, num_classes
        self.random_offset = random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if index >= len(self):
            raise IndexError(f"FakeData index out of range: {index} of {len(self)}")
        seeded = Generator()
        seeded.manual_seed(index + self.random_offset)
        noise = randn(*self.image_size, generator=seeded)
        target = int(randint(0, self.num_classes, (1,), generator=seeded).item())
        channels_last = (noise * 255).byte().numpy().transpose(1, 2, 0)
        return self.changed(picture(np.ascontiguousarray(channels_last)), target)

    def __len__(self) -> int:
        return self.size


class Digits(VisionDataset):
    """The 1,797 handwritten digits that scikit-learn ships: tensors (1, 8, 8) from 0 to 1.

    Raises ImportError where scikit-learn is not installed.

    >>> picture, target = rg.vision.datasets.Digits()[0]  # doctest: +SKIP
    >>> picture.shape, target  # doctest: +SKIP
    (retrograd.Size([1, 8, 8]), 0)
    """

    def __init__(
        self,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(None, transform, target_transform)
        try:
            pixels, targets = load("sklearn.datasets").load_digits(return_X_y=True)
        except ImportError as error:
            raise ImportError(
                "Digits are in scikit-learn, which is not installed: pip install scikit-learn"
            ) from error
        self.data = from_numpy((pixels / 16).astype(np.float32).reshape(-1, 1, 8, 8))
        self.targets = from_numpy(targets).long()

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self.changed(self.data[index], int(self.targets[index]))
