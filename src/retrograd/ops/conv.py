"""Convolutions and their transposes, any number of spatial dimensions."""

from __future__ import annotations

__all__: list[str] = []
