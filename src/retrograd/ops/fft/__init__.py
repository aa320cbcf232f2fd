"""Discrete Fourier transforms, short-time ones, and windows."""
