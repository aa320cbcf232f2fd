"""Convolution on arrays: patches (im2col), their adjoint (col2im), and three products over them.

Arrays are `(N, C, *spatial)`, weights `(O, C / groups, *kernel)`, for any number of spatial
dimensions. `padding` is a pair (before, after) per dimension; a negative "after" leaves out that
many elements. `stride` and `dilation` are one number per dimension. Nothing here knows tensors, and
nothing is conjugated.

NOTE [Layout]
Patches lie as `(C, kernel, N, out)`: channels first, images after. Then all three products are one
large matrix product per group, `weight (O, C*kernel) @ patches (C*kernel, N*out)`, and the copies
between this layout and the images' own move whole rows. Images are taken in blocks whose patches
fit into a cache (BLOCK bytes) and share one workspace: patches of a whole batch would be written to
fresh memory, whose page faults cost more than the product.

That is how it is done in NumPy. NumPy's own arrays go to the loops in C where they are built, by
`correlation`, which need no patches.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .allocation import empty, zeros
from .memory import windows
from .native import correlation

BLOCK = 1 << 21

Sizes = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]


@lru_cache(maxsize=256)
def out_size(size: Sizes, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Sizes:
    """How many windows fit along each spatial dimension."""
    return tuple(
        [
            (n + before + after - d * (k - 1) - 1) // s + 1
            for n, k, s, (before, after), d in zip(
                size, kernel, stride, padding, dilation, strict=True
            )
        ]
    )


class Geometry:
    """Sizes and strides of one convolution, worked out once per call."""

    def __init__(
        self, size: Sizes, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes
    ) -> None:
        self.kernel, self.stride, self.dilation = kernel, stride, dilation
        self.out = out_size(size, kernel, stride, padding, dilation)
        self.padded = tuple([n + p + q for n, (p, q) in zip(size, padding, strict=True)])
        used = [n + min(q, 0) for n, (_, q) in zip(size, padding, strict=True)]
        self.used: Any = (..., *[slice(n) for n in used])
        self.inside: Any = (
            ...,
            *[slice(p, p + n) for n, (p, _) in zip(used, padding, strict=True)],
        )
        self.axes = tuple(range(2, 2 + len(size)))
        self.taps, self.places = math.prod(kernel), math.prod(self.out)
        self.unpadded = not any(any(pair) for pair in padding)
        ones = (1,) * len(size)
        self.pointwise = kernel == ones and stride == ones and self.unpadded

    def block(self, rows: int, images: int, itemsize: int) -> int:
        """How many images to take at once, for `rows` channels of patches."""
        each = rows * self.taps * self.places * itemsize
        return max(1, min(images, BLOCK // each if each else images))

    def windows(self, x: Any) -> Any:
        """All windows of images `(n, C, *size)` as `(C, *kernel, n, *out)`; not to be written.

        A view of the images themselves where nothing is padded.
        """
        source = x
        if not self.unpadded:
            source = zeros(x, (x.shape[1], x.shape[0], *self.padded)).swapaxes(0, 1)
            source[self.inside] = x[self.used]
        found = windows(source, self.axes, self.kernel, self.stride, self.dilation)
        return found.transpose(1, *[axis + len(self.axes) for axis in self.axes], 0, *self.axes)

    def add_windows(self, patches: Any, out: Any) -> None:
        """Add patches `(C, *kernel, n, *out)` at their places in `(C, n, *padded)`."""
        for tap in np.ndindex(*self.kernel):
            place = [
                slice(i * d, i * d + s * (m - 1) + 1, s)
                for i, d, s, m in zip(tap, self.dilation, self.stride, self.out, strict=True)
            ]
            region = out[(slice(None), slice(None), *place)]
            region += patches[(slice(None), *tap)]


def blocks(images: int, count: int) -> list[slice]:
    """Slices of `count` that cover the images; the last may be shorter."""
    return [slice(n, min(n + count, images)) for n in range(0, images, count)]


def patches_of(geometry: Geometry, x: Any, workspace: Any) -> Any:
    """The patches of images `x`, `(C * taps, n * places)`, in the workspace."""
    n, channels = x.shape[:2]
    used = workspace[: channels * geometry.taps * n * geometry.places]
    view = used.reshape(channels, *geometry.kernel, n, *geometry.out)
    np.copyto(view, geometry.windows(x))
    return used.reshape(channels * geometry.taps, n * geometry.places)


def conv(
    x: Any,
    weight: Any,
    bias: Any,
    stride: Sizes,
    padding: Pairs,
    dilation: Sizes,
    groups: int,
) -> Any:
    """Correlation of images `(N, C, ...)` with `weight`, plus a bias or None: `(N, O, ...)`."""
    places = out_size(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    shape = (x.shape[0], weight.shape[0], *places)
    out = correlation.forward(shape, x, weight, bias, stride, padding, dilation, groups)
    if out is None:
        out = conv_by_patches(x, weight, stride, padding, dilation, groups)
        if bias is not None:
            out += bias.reshape(-1, *[1] * (x.ndim - 2))
    return out


def conv_by_patches(
    x: Any, weight: Any, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int
) -> Any:
    """`conv` by NumPy's functions: the patches of the images as a matrix, times the kernels."""
    geometry = Geometry(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    images, channels, outputs = x.shape[0], x.shape[1], weight.shape[0]
    matrix = weight.reshape(groups, outputs // groups, math.prod(weight.shape[1:]))
    if geometry.pointwise:
        return pointwise(matrix, x, outputs)
    out = empty(x, (images, outputs, *geometry.out))
    if out.size == 0:
        return out
    count = geometry.block(channels, images, x.itemsize)
    workspace = empty(x, channels * geometry.taps * count * geometry.places)
    flat = out.reshape(images, outputs, geometry.places)
    for part in blocks(images, count):
        patches = patches_of(geometry, x[part], workspace)
        columns = patches.reshape(groups, -1, patches.shape[1])
        if part.stop - part.start == 1:  # the product has the image's own layout
            np.matmul(matrix, columns, out=flat[part.start].reshape(groups, -1, geometry.places))
            continue
        flat[part] = np.matmul(matrix, columns).reshape(outputs, -1, geometry.places).swapaxes(0, 1)
    return out


def pointwise(matrix: Any, x: Any, outputs: int) -> Any:
    """A kernel of size 1: the weight applied at each place, without patches."""
    groups = matrix.shape[0]
    images, channels = x.shape[:2]
    places = math.prod(x.shape[2:])
    if groups == 1:
        out = np.matmul(matrix[0], x.reshape(images, channels, places))
    else:
        out = np.matmul(matrix, x.reshape(images, groups, channels // groups, places))
    out = out.reshape(images, outputs, *x.shape[2:])
    return out.astype(np.result_type(matrix, x), copy=False)  # bfloat16's products are float32


def conv_input(
    g: Any,
    weight: Any,
    size: Sizes,
    stride: Sizes,
    padding: Pairs,
    dilation: Sizes,
    groups: int,
) -> Any:
    """The adjoint of `conv` in its images: `(N, O, ...)` to `(N, C, *size)`."""
    shape = (g.shape[0], weight.shape[1] * groups, *size)
    out = correlation.adjoint(shape, g, weight, stride, padding, dilation, groups)
    if out is not None:
        return out
    geometry = Geometry(size, weight.shape[2:], stride, padding, dilation)
    images, outputs = g.shape[:2]
    channels = weight.shape[1] * groups
    matrix = weight.reshape(groups, outputs // groups, math.prod(weight.shape[1:])).swapaxes(1, 2)
    if geometry.pointwise:
        return pointwise(matrix, g, channels)
    out = zeros(g, (images, channels, *size))
    if out.size == 0 or g.size == 0:
        return out
    count = geometry.block(channels, images, g.itemsize)
    workspace = empty(g, channels * geometry.taps * count * geometry.places)
    for part in blocks(images, count):
        n = part.stop - part.start
        rows = rows_of(g[part]).reshape(groups, outputs // groups, -1)
        used = workspace[: channels * geometry.taps * n * geometry.places]
        np.matmul(matrix, rows, out=used.reshape(groups, -1, n * geometry.places))
        patches = used.reshape(channels, *geometry.kernel, n, *geometry.out)
        scatter(geometry, patches, out[part])
    return out


def rows_of(g: Any) -> Any:
    """Images `(n, O, ...)` as a matrix `(O, n * places)`: a view of a single contiguous image."""
    return g.swapaxes(0, 1).reshape(g.shape[1], -1)


def scatter(geometry: Geometry, patches: Any, out: Any) -> None:
    """Add patches `(C, *kernel, n, *out)` into zeroed images `(n, C, *size)`."""
    if geometry.unpadded:
        geometry.add_windows(patches, out.swapaxes(0, 1))
        return
    padded = zeros(out, (out.shape[1], out.shape[0], *geometry.padded))
    geometry.add_windows(patches, padded)
    out[geometry.used] = padded[geometry.inside].swapaxes(0, 1)


def conv_weight(
    g: Any,
    x: Any,
    kernel: Sizes,
    stride: Sizes,
    padding: Pairs,
    dilation: Sizes,
    groups: int,
) -> Any:
    """The adjoint of `conv` in its weight: of `(N, O, ...)` and the images `(N, C, ...)`."""
    images, channels, outputs = x.shape[0], x.shape[1], g.shape[1]
    shape = (outputs, channels // groups, *kernel)
    out = correlation.weight(shape, g, x, stride, padding, dilation, groups)
    if out is not None:
        return out
    geometry = Geometry(x.shape[2:], kernel, stride, padding, dilation)
    total = zeros(g, (groups, outputs // groups, math.prod(shape[1:])))
    if g.size == 0 or total.size == 0:
        return total.reshape(shape)
    count = images if geometry.pointwise else geometry.block(channels, images, x.itemsize)
    workspace = empty(x, channels * geometry.taps * count * geometry.places)
    for part in blocks(images, count):
        rows = rows_of(g[part]).reshape(groups, outputs // groups, -1)
        if geometry.pointwise:
            columns = rows_of(x[part])
        else:
            columns = patches_of(geometry, x[part], workspace)
        total += np.matmul(rows, columns.reshape(groups, -1, columns.shape[1]).swapaxes(1, 2))
    return total.reshape(shape)


def im2col(x: Any, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Any:
    """The windows of images `(N, C, ...)` as columns: `(N, C * taps, places)`."""
    geometry = Geometry(x.shape[2:], kernel, stride, padding, dilation)
    windows = geometry.windows(x)
    axis = 1 + len(kernel)
    rows = x.shape[1] * geometry.taps
    columns = np.moveaxis(windows, axis, 0).copy()  # reshaping would leave windows of 1 in place
    return columns.reshape(x.shape[0], rows, geometry.places)


def col2im(
    columns: Any, size: Sizes, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes
) -> Any:
    """The adjoint of `im2col`: columns added up at their places in images `(N, C, *size)`."""
    geometry = Geometry(size, kernel, stride, padding, dilation)
    images, channels = columns.shape[0], columns.shape[1] // geometry.taps
    out = zeros(columns, (images, channels, *size))
    patches = columns.reshape(images, channels, *kernel, *geometry.out)
    scatter(geometry, np.moveaxis(patches, 0, 1 + len(kernel)), out)
    return out
