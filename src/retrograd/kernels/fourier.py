"""Discrete Fourier transforms, as array kernels, in the precision of their input.

NumPy's functions multiply by a Python number where they do not scale, and its loops take that for a
reason to compute single precision in double, at seven times the cost. So NumPy's arrays go to the
loops themselves, or to those in C, which take several lines at once and all threads
(`src/native/loops/transforms.c`); all else goes to the functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import native
from .allocation import is_numpy
from .layout import empty_in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

try:
    from numpy.fft import _pocketfft_umath as loops  # type: ignore[attr-defined]
except ImportError:  # a NumPy that keeps its loops elsewhere
    loops = None

COMPLEX: dict[str, Any] = {
    "f": np.complex64,
    "F": np.complex64,
    "d": np.complex128,
    "D": np.complex128,
}
REAL: dict[str, Any] = {"f": np.float32, "F": np.float32, "d": np.float64, "D": np.float64}


def has_loops(x: Any) -> bool:
    """Whether NumPy's loops take an array as it is."""
    return loops is not None and x.dtype.char in REAL and is_numpy(x)


def transform_along(loop: Any, x: Any, dim: int, norm: Any, forward: bool, out: Any) -> Any:
    """A loop of NumPy's along a dimension, into `out`, scaled by the number of real points."""
    n, real = max(x.shape[dim], out.shape[dim]), REAL[x.dtype.char]
    factor = real(1)
    if norm != ("backward" if forward else "forward"):
        factor /= np.sqrt(real(n)) if norm == "ortho" else real(n)
    if native.loops is not None and native.loops.transform(out, x, loop, float(factor), dim):
        return out
    return loop(x, factor, axes=[(dim,), (), (dim,)], out=out)


def empty_result(x: Any, dims: Sequence[int], n: int, dtype: Any) -> Any:
    """An array for a result that has n points along the last of the dimensions transformed.

    They are innermost in memory, in that order, and all others lie as in `x`: as in PyTorch.
    """
    last = dims[-1]
    shape = (*x.shape[:last], n, *x.shape[last + 1 :])
    return empty_in_order(shape, [*by_steps(x, other_dims(x.ndim, dims)), *dims], dtype)


def other_dims(ndim: int, dims: Sequence[int]) -> list[int]:
    """The other dimensions: the last of them take the places of `dims`, as in PyTorch."""
    places, late = [], [d for d in range(ndim) if d not in dims]
    for d in range(len(late)):
        places.append(late.pop() if d in dims else late.pop(0))
    return places


def by_steps(x: Any, dims: Iterable[int]) -> list[int]:
    """The dimensions by the distance of their points in memory, the largest first."""
    return sorted(dims, key=lambda dim: -abs(x.strides[dim]))


def complex_transform(x: Any, dims: Sequence[int], norm: Any, forward: bool) -> Any:
    """The transform of a real or complex array along dimensions, or its inverse."""
    if has_loops(x):
        loop, inward = loops.fft if forward else loops.ifft, by_steps(x, dims)
        out = empty_result(x, inward, x.shape[inward[-1]], COMPLEX[x.dtype.char])
        for dim in reversed(dims):
            x = transform_along(loop, x.astype(out.dtype, copy=False), dim, norm, forward, out)
        return x
    if len(dims) == 1:  # thrice as fast as the general functions
        return (np.fft.fft if forward else np.fft.ifft)(x, None, dims[0], norm)
    return (np.fft.fftn if forward else np.fft.ifftn)(x, None, dims, norm)


def to_half(x: Any, dims: Sequence[int], norm: Any) -> Any:
    """The transform of a real array along dimensions, of which the last keeps half a spectrum."""
    last = dims[-1]
    n = x.shape[last]
    if has_loops(x):
        loop = loops.rfft_n_odd if n % 2 else loops.rfft_n_even
        inward = [*by_steps(x, dims[:-1]), last]
        out = empty_result(x, inward, n // 2 + 1, COMPLEX[x.dtype.char])
        half = transform_along(loop, x, last, norm, True, out)
    else:
        half = np.fft.rfft(x, None, last, norm)
    if len(dims) == 1 or not has_loops(half):
        return complex_transform(half, dims[:-1], norm, True) if len(dims) > 1 else half
    for dim in reversed(dims[:-1]):
        transform_along(loops.fft, half, dim, norm, True, half)
    return half


def from_half(x: Any, dims: Sequence[int], norm: Any, n: int) -> Any:
    """The inverse of `to_half`: n real points in the last of the dimensions."""
    if len(dims) > 1:
        x = complex_transform(x, dims[:-1], norm, False)
    last = dims[-1]
    if has_loops(x) and x.shape[last] == n // 2 + 1:
        out = empty_result(x, [last], n, REAL[x.dtype.char])
        return transform_along(loops.irfft, x, last, norm, False, out)
    return np.fft.irfft(x, n, last, norm)
