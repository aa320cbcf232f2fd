"""Convolutions by the loops in C: NOTE [Convolution] in `src/native/loops/conv.c`.

`forward`, `adjoint` (in the images) and `weight` (the adjoint in the weight) are those of
`convolution`, with the shape of the result in front. They give None for whatever the loops do not
take: arrays that are not NumPy's own, dtypes without loops, and infinities and NaN where a zero
that is multiplied would make NaN of them.

Complex numbers are twice as many real channels, of a real weight that is four times as large. Half
floats are computed in single precision and rounded once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import half
from .. import native
from ..memory import in_rows

FORWARD, ADJOINT, WEIGHT = range(3)

Sizes = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]
Geometry = tuple[Sizes, Pairs, Sizes, int]


def takes(*arrays: Any) -> bool:
    """Whether the loops are there, and take these arrays: of one dtype, NumPy's own."""
    return native.loops is not None and all(
        x.__class__ is np.ndarray and (x.dtype == arrays[0].dtype) for x in arrays
    )


def finite(x: Any) -> bool:
    """Whether all numbers of an array are finite."""
    if x.dtype.char in "fd" and x.flags.carray:
        return bool(native.loops.is_finite(x))
    return bool(np.isfinite(x).all())


def has_false_nan(out: Any, *given: Any) -> bool:
    """Whether a zero may have made NaN of an infinity: what was given says so, or the result.

    Weights may be the smallest of them, or the largest by far; what is less is looked through.
    """
    if sum([x.size for x in given]) < out.size:
        return not all(map(finite, given))
    return not finite(out) and bool(np.isnan(out).any())


def run(which: int, x: Any, y: Any, w: Any, bias: Any, geometry: Geometry) -> None:
    """Call the loops on images, results and the weight, one of which is written."""
    stride, padding, dilation, groups = geometry
    before = tuple([pair[0] for pair in padding])
    native.loops.conv(which, x, y, w, bias, stride, before, dilation, groups)


def forward(shape: Sizes, x: Any, w: Any, bias: Any, *geometry: Any) -> Any:
    """Correlation of images with a weight, plus a bias."""
    given: Any = (x, w) if bias is None else (x, w, bias)
    if not takes(*given):
        return None
    dtype, groups = x.dtype, geometry[3]
    if dtype.char in "fd":
        out = np.empty(shape, dtype)
        given = [in_rows(each) for each in given]
        run(FORWARD, given[0], out, given[1], None if bias is None else given[2], geometry)
        return out
    if half(dtype):
        wide = [each.astype(np.float32) for each in given]
        return forward(shape, *wide, *[None] * (3 - len(wide)), *geometry).astype(dtype)
    if dtype.char not in "FD":
        return None
    parts = None if bias is None else split_parts(bias[None], groups)[0]
    doubled = (shape[0], 2 * shape[1], *shape[2:])
    return join_parts(
        forward(doubled, split_parts(x, groups), as_real(w, groups), parts, *geometry),
        groups,
        dtype,
    )


def adjoint(shape: Sizes, g: Any, w: Any, *geometry: Any) -> Any:
    """The adjoint of a convolution in the images, by the loops in C."""
    if not takes(g, w):
        return None
    dtype, groups = g.dtype, geometry[3]
    if dtype.char in "fd":
        out = np.empty(shape, dtype)
        run(ADJOINT, out, in_rows(g), in_rows(w), None, geometry)
        return None if has_false_nan(out, w) else out
    if half(dtype):
        wide = adjoint(shape, g.astype(np.float32), w.astype(np.float32), *geometry)
        return None if wide is None else wide.astype(dtype)
    if dtype.char not in "FD":
        return None
    doubled = (shape[0], 2 * shape[1], *shape[2:])
    parts = adjoint(doubled, split_parts(g, groups), as_real(w.conj(), groups), *geometry)
    return None if parts is None else join_parts(parts, groups, dtype)


def weight(shape: Sizes, g: Any, x: Any, *geometry: Any) -> Any:
    """The adjoint of a convolution in the weight, by the loops in C."""
    if not takes(g, x):
        return None
    dtype, groups = g.dtype, geometry[3]
    if dtype.char in "fd":
        out = np.zeros(shape, dtype)
        run(WEIGHT, in_rows(x), in_rows(g), out, None, geometry)
        return None if has_false_nan(out, g, x) else out
    if half(dtype):
        wide = weight(shape, g.astype(np.float32), x.astype(np.float32), *geometry)
        return None if wide is None else wide.astype(dtype)
    if dtype.char not in "FD":
        return None
    doubled = (2 * shape[0], 2 * shape[1], *shape[2:])
    parts = weight(doubled, split_parts(g, groups), split_parts(x, groups), *geometry)
    if parts is None:
        return None
    parts = parts.reshape(groups, 2, shape[0] // groups, 2, *shape[1:])
    out = np.empty((groups, shape[0] // groups, *shape[1:]), dtype)
    np.subtract(parts[:, 0, :, 0], parts[:, 1, :, 1], out=out.real)
    np.add(parts[:, 0, :, 1], parts[:, 1, :, 0], out=out.imag)
    return out.reshape(shape)


def split_parts(x: Any, groups: int) -> Any:
    """Complex `(N, C, ...)` as real `(N, 2 C, ...)`: in each group the real parts first."""
    split = x.reshape(x.shape[0], groups, 1, x.shape[1] // groups, *x.shape[2:])
    parts = np.concatenate([split.real, split.imag], 2)
    return parts.reshape(x.shape[0], 2 * x.shape[1], *x.shape[2:])


def join_parts(parts: Any, groups: int, dtype: Any) -> Any:
    """The inverse of `split_parts`."""
    images, channels = parts.shape[0], parts.shape[1] // 2
    split = parts.reshape(images, groups, 2, channels // groups, *parts.shape[2:])
    out = np.empty((images, groups, channels // groups, *parts.shape[2:]), dtype)
    out.real, out.imag = split[:, :, 0], split[:, :, 1]
    return out.reshape(images, channels, *parts.shape[2:])


def as_real(w: Any, groups: int) -> Any:
    """A complex weight `(O, C, ...)` as the real one `(2 O, 2 C, ...)` of the same map."""
    split = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    rows = [
        np.concatenate([split.real, -split.imag], 2),
        np.concatenate([split.imag, split.real], 2),
    ]
    return np.concatenate(rows, 1).reshape(2 * w.shape[0], 2 * w.shape[1], *w.shape[2:])
