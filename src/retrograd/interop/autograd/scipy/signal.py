"""SciPy's signal processing for programs that are differentiated: HIPS autograd's `convolve`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal

__all__ = ["convolve"]


def convolve(A: Any, B: Any, axes: Any = None, dot_axes: Any = None, mode: str = "full") -> Any:
    """Convolution of two arrays along pairs of axes, all by default.

    `axes` and `dot_axes` are pairs of lists, of axes of A and of axes of B: along the first it is a
    convolution, over the second a sum of products, along the others an outer product. The result
    has the other axes of A, those of B, and those of the convolution, which are as long as `mode`
    says: "full", "valid", or "same" as A's. Raises ValueError for another mode, and for "valid"
    where neither array is the longer along all axes.

    >>> from retrograd.interop.autograd import grad
    >>> from retrograd.interop.autograd.scipy.signal import convolve
    >>> convolve(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([ 1., 12., 20.])
    >>> grad(lambda a: convolve(a, np.array([1.0, 10.0]))[1])(np.array([1.0, 2.0]))
    array([10.,  1.])
    """
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"convolve(): mode must be 'full', 'valid' or 'same', not {mode!r}")
    along_a, along_b = map(list, axes or (range(np.ndim(A)), range(np.ndim(B))))
    dot_a, dot_b = map(list, dot_axes or ((), ()))
    pairs = list(zip(along_a, along_b, strict=True))
    longer = {np.sign(np.shape(A)[i] - np.shape(B)[j]) for i, j in pairs}
    if mode == "valid" and {-1, 1} <= longer:
        raise ValueError("convolve(): one array must be larger than the other along all axes")
    # Letters of the sum: every axis of A and B has its own, but for those of `dot_axes`. An axis of
    # the convolution becomes two in A, the results' and the windows', which B shares.
    of_a, of_b = list(range(np.ndim(A))), [100 + j for j in range(np.ndim(B))]
    for i, j in zip(dot_a, dot_b, strict=True):
        of_b[j] = i
    windows, flipped = A, B
    for i, j in sorted(pairs, reverse=True):
        windows = windowed(windows, i, np.shape(A)[i], np.shape(B)[j], mode)
        flipped = np.flip(flipped, j)
        of_b[j] = 200 + i
        of_a.insert(i + 1, 200 + i)
    others = [i for i in range(np.ndim(A)) if i not in (*along_a, *dot_a)]
    rest = [100 + j for j in range(np.ndim(B)) if j not in (*along_b, *dot_b)]
    letters = {number: k for k, number in enumerate(dict.fromkeys([*of_a, *of_b]))}
    a, b, out = ([letters[n] for n in part] for part in (of_a, of_b, [*others, *rest, *along_a]))
    return np.einsum(windows, a, flipped, b, out)


def windowed(x: Any, axis: int, n: int, k: int, mode: str) -> Any:
    """The k neighbours that each result takes, as an axis behind `axis`, with zeros outside."""
    first, count = {
        "full": (0, n + k - 1),
        "same": ((k - 1) // 2, n),
        "valid": (min(n, k) - 1, abs(n - k) + 1),
    }[mode]
    widths = [(0, 0)] * np.ndim(x)
    widths[axis] = (k - 1, k - 1)
    places = first + np.arange(count)[:, None] + np.arange(k)
    return np.take(np.pad(x, widths), places, axis)


def __getattr__(name: str) -> Any:
    return getattr(scipy.signal, name)
