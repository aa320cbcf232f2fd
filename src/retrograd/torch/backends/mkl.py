"""Intel's MKL, which NumPy may use, but this package does not know."""

from __future__ import annotations

from .switches import is_available

__all__ = ["is_available"]
