"""Discrete Fourier transforms under the standard's names: the extension `fft`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import fft as own
from ...engine.tensor import Tensor

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfftn", "rfft", "rfftfreq", "rfftn",
]  # fmt: skip


def along_one(function: Callable[..., Tensor]) -> Any:
    """The standard's form of a transform along one axis."""
    name = function.__name__

    def call(
        x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
    ) -> Tensor:
        return function(x, n, axis, norm)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"""`retrograd.fft.{name}` along `axis`, of `n` elements.

    >>> xp.fft.{name}(xp.ones((2, 4)), axis=0, n=3).shape[1]
    4
    """
    return call


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


fft = along_one(own.fft)
ifft = along_one(own.ifft)
rfft = along_one(own.rfft)
irfft = along_one(own.irfft)
hfft = along_one(own.hfft)
ihfft = along_one(own.ihfft)
fftn = along_several(own.fftn)
ifftn = along_several(own.ifftn)
rfftn = along_several(own.rfftn)
irfftn = along_several(own.irfftn)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of `fft` of `n` samples at distance `d`.

    >>> xp.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return own.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of `rfft` of `n` samples at distance `d`.

    >>> xp.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return own.rfftfreq(n, d, dtype=dtype, device=device)


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
