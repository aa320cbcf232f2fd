"""Random tensors and the seeded generator."""

from __future__ import annotations

__all__: list[str] = []
