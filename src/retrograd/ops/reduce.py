"""Reductions: sums, means, products, norms, extrema, cumulative forms, softmax."""

from __future__ import annotations

__all__: list[str] = []
