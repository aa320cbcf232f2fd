"""Small pictures of ten and a hundred classes: A. Krizhevsky (2009)."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from ...serialization.legacy import Legacy
from ...serialization.unpickler import Unpickler
from .vision import VisionDataset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["CIFAR10", "CIFAR100"]


def nothing(memory: Any, device: str) -> Any:
    """Where storages of tensors would be placed: there are none."""
    return memory


def read_pickle(path: Path) -> Any:
    """What a pickle of data holds; it cannot run anything. Raises UnpicklingError for others."""
    size = path.stat().st_size
    with path.open("rb") as file, closing(Legacy(nothing, size)) as known:
        return Unpickler(file, size, known, encoding="latin1").load()


class CIFAR10(VisionDataset):
    """50,000 pictures (32, 32, 3), or 10,000 for testing, of `root/cifar-10-batches-py`.

    That is the folder in the archive of the Python version. `download` is harmless, and nothing
    is. Raises FileNotFoundError where files are missing.

    >>> rg.vision.datasets.CIFAR10("nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: CIFAR10: Dataset not found: there is no nowhere/cifar-10-batches-py/data...
    """

    base_folder = "cifar-10-batches-py"
    files: tuple[tuple[str, ...], tuple[str, ...]] = (
        ("test_batch",),
        ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"),
    )
    meta, names, labels = "batches.meta", "label_names", "labels"

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
        parts = [self.read(name) for name in self.files[bool(train)]]
        rows = np.concatenate([part["data"] for part in parts])
        self.data = np.ascontiguousarray(rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        self.targets = [label for part in parts for label in part[self.labels]]
        self.classes = self.read(self.meta)[self.names]
        self.class_to_idx = {name: n for n, name in enumerate(self.classes)}

    def read(self, name: str) -> Any:
        """What one of the files holds."""
        assert self.root is not None
        return read_pickle(self.found([self.root / self.base_folder / name]))


class CIFAR100(CIFAR10):
    """The same of a hundred classes, of the folder `root/cifar-100-python`.

    >>> rg.vision.datasets.CIFAR100.files
    (('test',), ('train',))
    """

    base_folder = "cifar-100-python"
    files = (("test",), ("train",))
    meta, names, labels = "meta", "fine_label_names", "fine_labels"
