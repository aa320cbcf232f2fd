"""Discrete Fourier transforms, under torch.fft's names (names only; see `ops.fft`)."""

from .engine import overriding
from .ops import fft as functions
from .ops.fft import *  # noqa: F403

__all__ = functions.__all__

overriding.publish(globals(), "retrograd.fft")
