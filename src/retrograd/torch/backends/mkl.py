"""Intel's MKL, which NumPy may use, but this package does not know."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """False: arrays are NumPy's."""
    return False
