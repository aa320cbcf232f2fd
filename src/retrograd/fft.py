"""Discrete Fourier transforms, under torch.fft's names (names only; see `ops.fft`)."""

from .ops import fft as functions
from .ops.fft import *  # noqa: F403

__all__ = functions.__all__
