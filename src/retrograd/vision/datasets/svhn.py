"""House numbers in street views: Y. Netzer et al. (2011)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...locks import load
from .vision import VisionDataset

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SVHN"]


class SVHN(VisionDataset):
    """Pictures (32, 32, 3) of digits in `root/train_32x32.mat`; `split` is train, test or extra.

    The digit 0 is class 0. SciPy reads the file. `download` is harmless, and nothing is. Raises
    ValueError for another split, FileNotFoundError where the file is missing.

    >>> rg.vision.datasets.SVHN("nowhere", split="test")
    Traceback (most recent call last):
        ...
    FileNotFoundError: SVHN: Dataset not found: there is no nowhere/test_32x32.mat, and nothing...
    """

    def __init__(
        self,
        root: Any,
        split: str = "train",
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform, target_transform)
        if split not in ("train", "test", "extra"):
            raise ValueError(
                f"SVHN: Unknown value {split!r} for argument split. Expected train, test or extra"
            )
        self.split = split
        assert self.root is not None
        content = load("scipy.io").loadmat(self.found([self.root / f"{split}_32x32.mat"]))
        self.labels = content["y"].astype(np.int64).reshape(-1) % 10  # 10 stands for 0
        self.data = content["X"].transpose(3, 2, 0, 1)
        self.targets = self.labels

    def bytes_of(self, index: int) -> Any:
        """The array of a picture."""
        return np.ascontiguousarray(self.data[index].transpose(1, 2, 0))
