"""Discrete Fourier transforms, as array kernels, in the precision of their input.

NumPy's functions multiply by a Python number where they do not scale, and its loops take that for a
reason to compute single precision in double, at seven times the cost. So NumPy's arrays of single
precision go to the loops themselves there; everything else goes to the functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .allocation import empty, numpys

if TYPE_CHECKING:
    from collections.abc import Sequence

try:
    from numpy.fft import _pocketfft_umath as loops
except ImportError:  # a NumPy that keeps its loops elsewhere
    loops = None  # type: ignore[assignment]

__all__ = ["complex_transform", "from_half", "to_half"]


def is_slow(x: Any, norm: str, forward: bool) -> bool:
    """Whether NumPy's function would compute single precision in double."""
    unscaled = norm == ("backward" if forward else "forward")
    return unscaled and x.dtype.char in "fF" and loops is not None and numpys(x)


def along(loop: Any, x: Any, dim: int, out: Any) -> Any:
    """A loop of NumPy's along a dimension, unscaled, into `out`."""
    return loop(x, np.float32(1), axes=[(dim,), (), (dim,)], out=out)


def made(x: Any, dim: int, n: int, dtype: Any) -> Any:
    """An array for a result that has n points along a dimension."""
    return empty(x, (*x.shape[:dim], n, *x.shape[dim + 1 :]), dtype)


def complex_transform(x: Any, dims: Sequence[int], norm: str, forward: bool) -> Any:
    """The transform of a real or complex array along dimensions, or its inverse."""
    if is_slow(x, norm, forward):
        loop, out = loops.fft if forward else loops.ifft, empty(x, x.shape, np.complex64)
        for dim in reversed(dims):
            x = along(loop, x, dim, out)
        return x
    if len(dims) == 1:  # thrice as fast as the general functions
        return (np.fft.fft if forward else np.fft.ifft)(x, None, dims[0], norm)
    return (np.fft.fftn if forward else np.fft.ifftn)(x, None, dims, norm)


def to_half(x: Any, dims: Sequence[int], norm: str) -> Any:
    """The transform of a real array along dimensions, of which the last keeps half a spectrum."""
    last = dims[-1]
    n = x.shape[last]
    if is_slow(x, norm, True):
        loop = loops.rfft_n_odd if n % 2 else loops.rfft_n_even
        half = along(loop, x, last, made(x, last, n // 2 + 1, np.complex64))
    else:
        half = np.fft.rfft(x, None, last, norm)
    return complex_transform(half, dims[:-1], norm, True) if len(dims) > 1 else half


def from_half(x: Any, dims: Sequence[int], norm: str, n: int) -> Any:
    """The inverse of `to_half`: n real points in the last of the dimensions."""
    if len(dims) > 1:
        x = complex_transform(x, dims[:-1], norm, False)
    last = dims[-1]
    if is_slow(x, norm, False) and x.shape[last] == n // 2 + 1:
        return along(loops.irfft, x, last, made(x, last, n, np.float32))
    return np.fft.irfft(x, n, last, norm)
