"""Elementwise functions: exponentials, trigonometry, powers, rounding, comparison and logic."""

from __future__ import annotations

__all__: list[str] = []
