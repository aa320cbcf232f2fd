"""Indexing: NumPy-style reading and assignment, gather, scatter and relatives."""

from __future__ import annotations

__all__: list[str] = []
