"""Ordering and selecting: sort, topk, masks, one-hot."""

from __future__ import annotations

__all__: list[str] = []
