"""What `importlib.metadata` says of `torch` under the alias."""

from __future__ import annotations

from importlib.metadata import Distribution
from pathlib import Path

from ..torch_version import FOLLOWED

__all__ = ["Alias"]


class Alias(Distribution):
    """An installed package called torch, of the version that is followed."""

    def read_text(self, filename: str) -> str | None:
        """The metadata; no other file is there."""
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: torch\nVersion: {FOLLOWED}\n"

    def locate_file(self, path: object) -> Path:
        """Where a file of the package would be."""
        return Path(__file__).parents[2] / str(path)
