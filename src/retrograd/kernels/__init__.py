"""Numerical kernels, functions of arrays alone: they know no tensors, graphs or derivatives."""

from .native import threads  # which sets their number
