"""Normalisation, dropout and embedding: the functional side of such layers."""

from __future__ import annotations

__all__: list[str] = []
