"""Pictures in folders, one for each class."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...locks import load
from .vision import VisionDataset

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "IMG_EXTENSIONS",
    "DatasetFolder",
    "ImageFolder",
    "default_loader",
    "find_classes",
    "has_file_allowed_extension",
    "make_dataset",
]

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def has_file_allowed_extension(filename: str, extensions: str | tuple[str, ...]) -> bool:
    """Whether a name ends in one of some extensions, in whatever case."""
    return str(filename).lower().endswith(extensions)


def find_classes(directory: Any) -> tuple[list[str], dict[str, int]]:
    """The names of the folders in a folder, sorted, and their numbers.

    Raises FileNotFoundError where there is none.
    """
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
    return classes, {name: n for n, name in enumerate(classes)}


def make_dataset(
    directory: Any,
    class_to_idx: dict[str, int] | None = None,
    extensions: str | tuple[str, ...] | None = None,
    is_valid_file: Callable[[str], bool] | None = None,
    allow_empty: bool = False,
) -> list[tuple[str, int]]:
    """(path, number of its class) of all files below the folders of classes, sorted.

    Files are taken by `extensions` or by `is_valid_file`, one of which is given. Raises ValueError
    for both and neither, FileNotFoundError for classes without files, unless `allow_empty`.
    """
    if (extensions is None) == (is_valid_file is None):
        raise ValueError(
            "Both extensions and is_valid_file cannot be None or not None at the same time"
        )
    takes = is_valid_file or (lambda path: has_file_allowed_extension(path, extensions or ""))
    found, empty = [], []
    for name, number in sorted((class_to_idx or find_classes(directory)[1]).items()):
        own = [
            (os.path.join(folder, file), number)
            for folder, _, files in sorted(os.walk(os.path.join(directory, name), followlinks=True))
            for file in sorted(files)
            if takes(os.path.join(folder, file))
        ]
        found += own
        empty += [] if own else [name]
    if empty and not allow_empty:
        wanted = "" if extensions is None else f" Supported extensions are: {extensions}"
        raise FileNotFoundError(
            f"Found no valid file for the classes {', '.join(empty)}.{wanted}. Write "
            "allow_empty=True to take them as they are"
        )
    return found


def default_loader(path: Any) -> Any:
    """The picture in a file, RGB, of Pillow's.

    Raises ModuleNotFoundError where Pillow is not installed.
    """
    with Path(path).open("rb") as file:
        return load("PIL.Image").open(file).convert("RGB")


class DatasetFolder(VisionDataset):
    """What `loader` reads from files `root/class/.../file`, and the number of the class.

    `samples` has path and number of each, `classes` the names. Raises FileNotFoundError where
    there are no folders, or no files that `extensions` or `is_valid_file` take.
    """

    def __init__(
        self,
        root: Any,
        loader: Callable[[str], Any],
        extensions: tuple[str, ...] | None = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, transform, target_transform)
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.loader, self.extensions = loader, extensions
        self.samples = self.make_dataset(
            self.root, self.class_to_idx, extensions, is_valid_file, allow_empty
        )
        self.targets = [number for _, number in self.samples]

    make_dataset = staticmethod(make_dataset)

    def find_classes(self, directory: Any) -> tuple[list[str], dict[str, int]]:
        """The names of the classes and their numbers: for subclasses to change."""
        return find_classes(directory)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        return self.changed(self.loader(path), target)

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """Pictures in files `root/class/.../picture.png`, and the number of the class.

    >>> rg.vision.datasets.ImageFolder("nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: [Errno 2] No such file or directory: 'nowhere'
    """

    def __init__(
        self,
        root: Any,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        loader: Callable[[str], Any] = default_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        extensions = IMG_EXTENSIONS if is_valid_file is None else None
        own = (transform, target_transform, is_valid_file, allow_empty)
        super().__init__(root, loader, extensions, *own)
        self.imgs = self.samples
