"""Discrete Fourier transforms under the standard's names: the extension `fft`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import fft as own
from ...engine.tensor import Tensor
from ...fft import fft, fftfreq, hfft, ifft, ihfft, irfft, rfft, rfftfreq

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfftn", "rfft", "rfftfreq", "rfftn",
]  # fmt: skip


def along_several(function: Callable[..., Tensor]) -> Any:
    """The standard's form of a transform along several axes."""
    name = function.__name__

    def call(x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
        return function(x, s, axes, norm)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"""`retrograd.fft.{name}` along `axes` (all, if None), of `s` elements.

    >>> xp.fft.{name}(xp.ones((2, 4)), axes=(0,), s=(3,)).shape[1]
    4
    """
    return call


fftn = along_several(own.fftn)
ifftn = along_several(own.ifftn)
rfftn = along_several(own.rfftn)
irfftn = along_several(own.irfftn)


def fftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """The frequency 0 moved to the middle of `axes`.

    >>> xp.fft.fftshift(xp.asarray([0, 1, -2, -1]))
    tensor([-2, -1,  0,  1])
    """
    return own.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """The frequency 0 moved back to the front of `axes`.

    >>> xp.fft.ifftshift(xp.asarray([-2, -1, 0, 1]))
    tensor([ 0,  1, -2, -1])
    """
    return own.ifftshift(x, axes)
