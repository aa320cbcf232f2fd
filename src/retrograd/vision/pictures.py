"""Pillow's pictures, where it is installed, and what stands for them where it is not."""

from __future__ import annotations

import importlib.util
from typing import Any

from ..locks import load

__all__ = ["INSTALLED", "is_picture", "picture"]

INSTALLED = importlib.util.find_spec("PIL") is not None


def is_picture(value: Any) -> bool:
    """Whether a value is a picture of Pillow's, which need not have been imported."""
    return type(value).__module__.startswith("PIL.")


def picture(array: Any, mode: str | None = None) -> Any:
    """The picture of bytes (H, W) or (H, W, 3); without Pillow, the array itself."""
    if not INSTALLED:
        return array
    made = load("PIL.Image").fromarray(array)
    return made if mode in (None, made.mode) else made.convert(mode)
