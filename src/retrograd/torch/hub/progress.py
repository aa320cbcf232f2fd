"""The bar of a download: the package `tqdm`'s where it is installed, else a share on stderr."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["tqdm"]

try:
    from tqdm import tqdm
except ModuleNotFoundError:

    class tqdm:  # type: ignore[no-redef]  # noqa: N801 (the package's name)
        """A counter of steps done, of `total` or of any number."""

        def __init__(self, total: int | None = None, disable: bool = False, **style: Any) -> None:
            self.total, self.disable, self.n = total, disable, 0

        def update(self, n: int = 1) -> None:
            """Say that `n` more are done."""
            self.n += n
            if not self.disable:
                share = f"{100 * self.n / self.total:.1f}%" if self.total else f"{self.n} bytes"
                sys.stderr.write(f"\r{share}")

        def set_description(self, *text: Any, **settings: Any) -> None:
            """Take what stands before the bar: it is not shown."""

        def close(self) -> None:
            """End the line."""
            if not self.disable:
                sys.stderr.write("\n")

        def __enter__(self) -> tqdm:
            return self

        def __exit__(self, *exc: object) -> None:
            self.close()
