"""Signals by their spectra: the analytic signal, and another number of samples.

Both are made of Fourier transforms along one dimension, are linear, and so have derivatives of
every order and in both modes. Source: the definitions of SciPy's `scipy.signal`.
"""

from __future__ import annotations

from typing import Any

from ..engine.tensor import Tensor
from ..ops.core.dims import wrap_dim
from ..ops.fft.fft import fft, ifft
from ..ops.shape.join import cat

__all__ = ["hilbert", "resample"]


def hilbert(x: Tensor, N: int | None = None, dim: int = -1) -> Tensor:
    """The analytic signal along `dim`: x + i H(x), without the negative frequencies of x.

    Its real part is the signal, its modulus the envelope, its angle the phase. The signal is real;
    it is cut or padded with zeros to `N` samples. Returns a complex tensor of that shape. Raises
    ValueError for a complex signal and for an `N` that is not positive.

    >>> signal = rg.tensor([1.0, 0.0, -1.0, 0.0])            # a cosine
    >>> rg.signal.hilbert(signal)
    tensor([ 1.+0.j,  0.+1.j, -1.+0.j,  0.-1.j])
    """
    if x.dtype.is_complex:
        raise ValueError(
            f"hilbert(): expected a real signal, got {x.dtype}. A complex one has its two sides of "
            "the spectrum apart already: rg.fft.fft(x)"
        )
    at = wrap_dim(x, dim)
    length = x.shape[at] if N is None else N
    if length <= 0:
        raise ValueError(f"hilbert(): N must be positive, got {length}")
    bins = fft(x, length, at)
    positive = (length - 1) // 2
    kept = [bins.narrow(at, 0, 1), bins.narrow(at, 1, positive) * 2]
    if length % 2 == 0:
        kept.append(bins.narrow(at, length // 2, 1))
    kept.append(bins.narrow(at, length - positive, positive) * 0)
    return ifft(cat(kept, at), None, at)


def resample(x: Tensor, num: int, dim: int = -1) -> Tensor:
    """The signal, taken as periodic, at `num` evenly spaced points along `dim`.

    Real or complex; the spectrum is cut or padded with zeros, so what lies beyond the new highest
    frequency is lost, and all else is kept. At the highest frequency of an even number of samples,
    both of its signs take half. Raises ValueError for a `num` that is not positive.

    >>> rg.signal.resample(rg.tensor([1.0, 0.0, -1.0, 0.0]), 8)
    tensor([ 1.0000,  0.7071,  0.0000, -0.7071, -1.0000, -0.7071,  0.0000,  0.7071])
    >>> rg.signal.resample(rg.tensor([1.0, 1j, -1.0, -1j]), 2)
    tensor([ 1.+0.j, -1.+0.j])
    """
    at = wrap_dim(x, dim)
    size = x.shape[at]
    if num <= 0:
        raise ValueError(f"resample(): num must be positive, got {num}")
    bins: Any = fft(x, None, at)
    shared = min(size, num)
    side, odd = (shared - 1) // 2, shared % 2
    low, high = bins.narrow(at, 0, side + 1), bins.narrow(at, size - side, side)
    if odd or shared == 0:
        middle = [zeros(bins, at, num - shared)]
    elif num < size:
        middle = [bins.narrow(at, shared // 2, 1) + bins.narrow(at, size - shared // 2, 1)]
    elif num > size:
        half = bins.narrow(at, shared // 2, 1) / 2
        middle = [half, zeros(bins, at, num - shared - 1), half]
    else:
        middle = [bins.narrow(at, shared // 2, 1)]
    found = ifft(cat([low, *middle, high], at), None, at) * (num / size)
    return found if x.dtype.is_complex else found.real


def zeros(bins: Tensor, dim: int, count: int) -> Tensor:
    """So many bins without anything in them."""
    return bins.new_zeros([count if d == dim else n for d, n in enumerate(bins.shape)])
