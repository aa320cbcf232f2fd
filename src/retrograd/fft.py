"""Discrete Fourier transforms, under torch.fft's names (names only; see `ops.fft`)."""

from .engine import overriding
from .ops.fft import fft as functions
from .ops.fft.fft import *  # noqa: F403

__all__ = functions.__all__

overriding.publish(globals(), "retrograd.fft")
