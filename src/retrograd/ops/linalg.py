"""Matrix products: matmul, bmm, einsum, dot, outer, linear."""

from __future__ import annotations

__all__: list[str] = []
