"""Shapes and views: reshape, transpose, expand, split, join, pad."""

from __future__ import annotations

__all__: list[str] = []
