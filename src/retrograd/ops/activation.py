"""Activation functions of neural networks, real and complex."""

from __future__ import annotations

__all__: list[str] = []
