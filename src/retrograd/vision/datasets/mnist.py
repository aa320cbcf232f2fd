"""Handwritten digits, and what has their format: Y. LeCun et al. (1998), H. Xiao et al. (2017)."""

from __future__ import annotations

import gzip
import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ops.creation.from_data import from_numpy
from .vision import VisionDataset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["KMNIST", "MNIST", "FashionMNIST"]

# Types of elements by their code in a file; numbers are big-endian.
TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def read_idx(path: Path) -> Any:
    """The array in a file of the idx format, which may be compressed by gzip.

    Raises ValueError for a file that is none, or ends early.
    """
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    zeros, code, ndim = struct.unpack(">HBB", content[:4].ljust(4, b"\xff"))
    begin = 4 + 4 * ndim
    if zeros or code not in TYPES or len(content) < begin:
        raise ValueError(f"{path} is no idx file: it begins with {content[:4]!r}")
    shape, dtype = struct.unpack(f">{ndim}I", content[4:begin]), np.dtype(TYPES[code])
    needs = begin + math.prod(shape) * dtype.itemsize
    if len(content) != needs:
        raise ValueError(
            f"{path} should have {needs} bytes for numbers of shape {shape}, and has "
            f"{len(content)}. Copy it again"
        )
    found = np.frombuffer(content, dtype, offset=begin).reshape(shape)
    return found.astype(dtype.newbyteorder("="))


class MNIST(VisionDataset):
    """60,000 digits (28, 28), or 10,000 for testing, of `root/MNIST/raw/train-images-idx3-ubyte`.

    The files, `t10k-` for testing, may be compressed (`.gz`). `download` is harmless, and nothing
    is. Raises FileNotFoundError where there are none.

    >>> rg.vision.datasets.MNIST("nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: MNIST: Dataset not found: there is no nowhere/MNIST/raw/train-images-i...
    """

    classes: tuple[str, ...] = (
        *("0 - zero", "1 - one", "2 - two", "3 - three", "4 - four"),
        *("5 - five", "6 - six", "7 - seven", "8 - eight", "9 - nine"),
    )

    def __init__(
        self,
        root: Any,
        train: bool = True,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform, target_transform)
        self.train = train
        self.data = from_numpy(read_idx(self.file("images-idx3-ubyte")))
        self.targets = from_numpy(read_idx(self.file("labels-idx1-ubyte"))).long()

    @property
    def raw_folder(self) -> str:
        """Where the files are."""
        return f"{self.root}/{type(self).__name__}/raw"

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The number of every class."""
        return {name: n for n, name in enumerate(self.classes)}

    def file(self, name: str) -> Path:
        """One of the files, compressed or not."""
        assert self.root is not None
        folder, part = self.root / type(self).__name__ / "raw", "train" if self.train else "t10k"
        return self.found([folder / f"{part}-{name}", folder / f"{part}-{name}.gz"])

    def bytes_of(self, index: int) -> Any:
        """The array of a picture."""
        return self.data[index].numpy()


class FashionMNIST(MNIST):
    """Clothes in the files of `MNIST`, of the folder `root/FashionMNIST/raw`.

    >>> rg.vision.datasets.FashionMNIST.classes[9]
    'Ankle boot'
    """

    classes = (
        *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
        *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
    )


class KMNIST(MNIST):
    """Ten characters of old Japanese script in the files of `MNIST`, of `root/KMNIST/raw`.

    Source: T. Clanuwat et al. (2018).

    >>> rg.vision.datasets.KMNIST.classes[:3]
    ('o', 'ki', 'su')
    """

    classes = ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo")
