"""Numerical kernels, functions of arrays alone: they know no tensors, graphs or derivatives."""
