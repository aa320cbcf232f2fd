"""Apple's GPU, which is not used."""

from __future__ import annotations

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """False: arrays are NumPy's."""
    return False


def is_built() -> bool:
    """False: arrays are NumPy's."""
    return False
