"""Complex numbers: conjugate, parts, angle, polar form, views as pairs of reals."""

from __future__ import annotations

__all__: list[str] = []
