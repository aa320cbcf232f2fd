"""What the data sets have in common: samples are a picture and the number of its class."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...utils.data import Dataset
from ..pictures import picture

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["VisionDataset"]


class VisionDataset(Dataset[Any]):
    """Pictures of the folder `root`, each changed by `transform`, and targets, by another.

    `data` holds bytes (N, H, W) or (N, H, W, 3), `targets` whole numbers. A sample is a picture of
    Pillow's where that is installed, else an array (H, W) or (H, W, 3), and an int: `ToTensor`
    takes both.
    """

    data: Any
    targets: Any

    def __init__(
        self,
        root: Any = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self.root = Path(root).expanduser() if root is not None else None
        self.transform, self.target_transform = transform, target_transform

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self.changed(picture(self.bytes_of(index)), int(self.targets[index]))

    def __len__(self) -> int:
        return len(self.data)

    def bytes_of(self, index: int) -> Any:
        """The array of a picture."""
        return self.data[index]

    def changed(self, img: Any, target: Any) -> tuple[Any, Any]:
        """A sample after the transforms."""
        if self.transform is not None:
            img = self.transform(img)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return img, target

    def found(self, paths: list[Path]) -> Path:
        """The first of some files that is there; raises FileNotFoundError without one."""
        for path in paths:
            if path.exists():
                return path
        raise FileNotFoundError(
            f"{type(self).__name__}: Dataset not found: there is no {paths[0]}, and nothing is "
            "downloaded. Put the files there, by the names that their makers gave them"
        )
