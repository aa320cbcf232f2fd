"""Sequences that fill space evenly, under the names of `torch.quasirandom`."""

from .sobol import SobolEngine

__all__ = ["SobolEngine"]
