"""Regions of feature maps at one size: means and maxima over the bins of a grid in each box.

NOTE [Regions]
1. A mean of bilinear samples on a grid is a product: rows of weights over y, columns over x. So
   `roi_align`, `ps_roi_align` and `ps_roi_pool` are one linear map, `Gathered`, for different
   weights; its derivative is its transpose, `Scattered`, and the reverse.
2. Weights are kept where they are not zero: a box costs its own area, not the picture's.
3. Boxes have no gradient, as in torchvision.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ....autograd import Function
from ....engine.tensor import Tensor
from ....ops.creation.from_data import from_numpy

__all__ = [
    "ps_roi_align", "ps_roi_pool", "roi_align", "roi_pool",
]  # fmt: skip


class Region(NamedTuple):
    """A part of picture `n`: rows of it, weights (P, rows), columns of it, weights (Q, columns)."""

    n: int
    y: slice
    rows: np.ndarray
    x: slice
    columns: np.ndarray


class Gathered(Function):
    """Weighted sums (K, C, P, Q) over K regions of pictures (N, C, H, W): NOTE [Regions].

    `sensitive` pictures have a channel of their own for every bin.
    """

    @staticmethod
    def forward(input: Tensor, regions: Any, bins: Any, sensitive: bool) -> Tensor:
        maps, channels = input.numpy(), input.shape[1]
        made = np.zeros((len(regions), channels // (math.prod(bins) if sensitive else 1), *bins))
        made = made.astype(maps.dtype)
        for out, (n, y, rows, x, columns) in zip(made, regions, strict=True):
            part = maps[n, :, y, x]
            if sensitive:
                part = part.reshape(-1, *bins, *part.shape[1:])
                out[:] = np.einsum("cpqyx,py,qx->cpq", part, rows, columns)
            else:
                out[:] = rows @ part @ columns.T
        return from_numpy(made)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        input, *ctx.rest = inputs
        ctx.shape = input.shape

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return Scattered.apply(g, ctx.shape, *ctx.rest), None, None, None


class Scattered(Function):
    """The transpose of `Gathered`: pictures of `shape` from regions (K, C, P, Q)."""

    @staticmethod
    def forward(g: Tensor, shape: Any, regions: Any, bins: Any, sensitive: bool) -> Tensor:
        sums = g.numpy()
        made = np.zeros(shape, sums.dtype)
        for each, (n, y, rows, x, columns) in zip(sums, regions, strict=True):
            if sensitive:
                part = np.einsum("cpq,py,qx->cpqyx", each, rows, columns)
                made[n, :, y, x] += part.reshape(-1, *part.shape[3:])
            else:
                made[n, :, y, x] += rows.T @ each @ columns
        return from_numpy(made)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.rest = inputs[2:]

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return Gathered.apply(g, *ctx.rest), None, None, None, None


def listed(boxes: Any, dtype: Any, name: str) -> tuple[list[int], np.ndarray]:
    """The number of the picture of every box, and corners (K, 4) in the dtype of the maps."""
    if isinstance(boxes, Tensor):
        if boxes.ndim != 2 or boxes.shape[1] != 5:
            raise ValueError(
                f"{name}: The boxes tensor shape is not correct as Tensor[K, 5]: got "
                f"{tuple(boxes.shape)}. Write the number of the picture before each box, or a "
                "list with a tensor (L, 4) for every picture"
            )
        rows = boxes.detach().numpy()
        pictures, corners = rows[:, 0].astype(int).tolist(), rows[:, 1:]
    else:
        for each in boxes:
            if each.ndim != 2 or each.shape[1] != 4:
                raise ValueError(
                    f"{name}: The shape of the tensor in the boxes list is not correct as "
                    f"List[Tensor[L, 4]]: got {tuple(each.shape)}"
                )
        parts = [each.detach().numpy() for each in boxes]
        pictures = [n for n, part in enumerate(parts) for _ in part]
        corners = np.concatenate([*parts, np.zeros((0, 4))])
    return pictures, corners.astype(dtype)


def both(size: Any) -> tuple[int, int]:
    """(height, width) of an integer or a pair."""
    return (size, size) if isinstance(size, int) else (size[0], size[1])


def nonzero_weights(first: int, weights: np.ndarray) -> tuple[slice, np.ndarray]:
    """The stretch of weights from position `first` on, as what `Region` holds."""
    return slice(first, first + weights.shape[1]), weights


def bilinear(begin: Any, size: Any, bins: int, ratio: int, length: int, dtype: Any) -> Any:
    """Weights of means of samples, `ratio` in each of `bins` parts of a side, over positions.

    Samples more than 1 outside count as 0, others outside as those on the border; a `ratio` of 0
    or less is one for every position that a bin is wide.
    """
    step = size / bins
    samples = ratio if ratio > 0 else math.ceil(step)
    if samples <= 0:
        return nonzero_weights(0, np.zeros((bins, 1), dtype))
    inner = (np.arange(samples) + dtype.type(0.5)) * step / samples
    at = (begin + np.arange(bins)[:, None] * step + inner).astype(dtype)
    inside = (at >= -1) & (at <= length)
    at = at.clip(0, length - 1)
    low = at.astype(int)
    high = np.minimum(low + 1, length - 1)
    first = low.min()
    weights = np.zeros((bins, high.max() - first + 1), dtype)
    row = np.broadcast_to(np.arange(bins)[:, None], at.shape)
    np.add.at(weights, (row, low - first), inside * (1 - (at - low)))
    np.add.at(weights, (row, high - first), inside * (at - low))
    return nonzero_weights(first, weights / dtype.type(samples))


def aligned_regions(
    shape: Any, boxes: Any, bins: Any, scale: float, ratio: int, aligned: bool, dtype: Any
) -> list[Region]:
    """The regions of `roi_align`: of bilinear samples in boxes, which are not small unless aligned.

    `shape` and `dtype` are those of the maps.
    """
    offset, least = (0.5, None) if aligned else (0.0, 1)
    pictures, corners = listed(boxes, dtype, "roi_align")
    dtype, found = corners.dtype, []
    for n, (x1, y1, x2, y2) in zip(
        pictures, corners * dtype.type(scale) - dtype.type(offset), strict=True
    ):
        width, height = x2 - x1, y2 - y1
        if least is not None:
            width, height = max(width, least), max(height, least)
        rows = bilinear(y1, height, bins[0], ratio, shape[2], dtype)
        columns = bilinear(x1, width, bins[1], ratio, shape[3], dtype)
        found.append(Region(n, *rows, *columns))
    return found


def roi_align(
    input: Tensor,
    boxes: Any,
    output_size: Any,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """Means over bins of boxes, (K, C, P, Q) = (K, C, *output_size), of maps (N, C, H, W).

    `boxes` is a tensor (K, 5), the number of a picture and corners, or a list of tensors (L, 4),
    one for each picture; they are multiplied by `spatial_scale`. A bin is the mean of
    `sampling_ratio` times as many samples, between pixels, by default one for every pixel.
    `aligned` takes pixels as squares around their coordinates. Raises ValueError for other shapes.
    Source: K. He et al., "Mask R-CNN" (2017).

    >>> maps = rg.arange(16.0).reshape(1, 1, 4, 4)
    >>> rg.vision.ops.roi_align(maps, [rg.tensor([[0.0, 0, 2, 2]])], 1)
    tensor([[[[5.]]]])
    """
    bins, settings = both(output_size), (spatial_scale, sampling_ratio, aligned)
    found = aligned_regions(input.shape, boxes, bins, *settings, input.dtype.numpy)
    return Gathered.apply(input, found, bins, False)


def ps_roi_align(
    input: Tensor,
    boxes: Any,
    output_size: Any,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
) -> Tensor:
    """`roi_align` of maps (N, C * P * Q, H, W), which have channels of their own for every bin.

    Source: Z. Li et al., "Light-head R-CNN" (2017).

    >>> rg.vision.ops.ps_roi_align(rg.ones(1, 8, 4, 4), [rg.tensor([[0.0, 0, 2, 2]])], 2).shape
    retrograd.Size([1, 2, 2, 2])
    """
    bins = sensitive_bins(input, output_size, "ps_roi_align")
    settings = (spatial_scale, sampling_ratio, True, input.dtype.numpy)
    found = aligned_regions(input.shape, boxes, bins, *settings)
    return Gathered.apply(input, found, bins, True)


def sensitive_bins(input: Tensor, output_size: Any, name: str) -> tuple[int, int]:
    """(P, Q); raises RuntimeError for channels that are no multiple of P * Q."""
    bins = both(output_size)
    if input.shape[1] % math.prod(bins):
        raise RuntimeError(
            f"{name}: input channels must be a multiple of pooling height * pooling width. Got "
            f"{input.shape[1]} channels and bins {bins}"
        )
    return bins


def rounded(x: np.ndarray) -> np.ndarray:
    """The nearest whole numbers, halves away from 0."""
    return (np.sign(x) * np.floor(np.abs(x) + 0.5)).astype(int)


def edges(begin: int, size: int, bins: int, top: int, dtype: Any) -> list[tuple[int, int]]:
    """First positions of bins, and those after their last, from 0 to `top`."""
    step = dtype.type(size) / dtype.type(bins)
    first = np.floor(np.arange(bins).astype(dtype) * step).astype(int) + begin
    last = np.ceil(np.arange(1, bins + 1).astype(dtype) * step).astype(int) + begin
    return list(zip(first.clip(0, top).tolist(), last.clip(0, top).tolist(), strict=True))


def ps_roi_pool(input: Tensor, boxes: Any, output_size: Any, spatial_scale: float = 1.0) -> Tensor:
    """`ps_roi_align` by whole pixels: the mean of those that a bin touches, 0 where it has none.

    Source: J. Dai et al., "R-FCN" (2016).

    >>> rg.vision.ops.ps_roi_pool(rg.ones(1, 8, 4, 4), [rg.tensor([[0.0, 0, 2, 2]])], 2).shape
    retrograd.Size([1, 2, 2, 2])
    """
    bins = sensitive_bins(input, output_size, "ps_roi_pool")
    found = pooled_regions(input.shape, boxes, bins, spatial_scale, input.dtype.numpy)
    return Gathered.apply(input, found, bins, True)


def pooled_regions(shape: Any, boxes: Any, bins: Any, scale: float, dtype: Any) -> list[Region]:
    """The regions of `ps_roi_pool`, as `aligned_regions`."""
    pictures, corners = listed(boxes, dtype, "ps_roi_pool")
    dtype, found = corners.dtype, []

    def means(begin: int, end: int, bins: int, length: int) -> Any:
        weights = np.zeros((bins, length), dtype)
        spans = edges(begin, max(end - begin, 1), bins, length - 1, dtype)
        for row, (first, last) in zip(weights, spans, strict=True):
            if last > first:
                row[first:last] = 1 / (last - first)
        return nonzero_weights(0, weights)

    for n, (x1, y1, x2, y2) in zip(pictures, rounded(corners * dtype.type(scale)), strict=True):
        rows = means(y1, y2, bins[0], shape[2])
        columns = means(x1, x2, bins[1], shape[3])
        found.append(Region(n, *rows, *columns))
    return found


def roi_pool(input: Tensor, boxes: Any, output_size: Any, spatial_scale: float = 1.0) -> Tensor:
    """Maxima over bins of boxes by whole pixels, as `roi_align`; 0 where a bin has none.

    Source: R. Girshick, "Fast R-CNN" (2015).

    >>> maps = rg.arange(16.0).reshape(1, 1, 4, 4)
    >>> rg.vision.ops.roi_pool(maps, [rg.tensor([[0.0, 0, 2, 2]])], 1)
    tensor([[[[10.]]]])
    """
    return largest(input, boxes, both(output_size), spatial_scale)[0]


def largest(input: Tensor, boxes: Any, bins: Any, scale: float) -> tuple[Tensor, Tensor]:
    """The result of `roi_pool`, and the places of the maxima in the maps, int32; -1 for none."""
    maps, (channels, tall, wide) = input.detach().numpy(), input.shape[1:]
    pictures, corners = listed(boxes, maps.dtype, "roi_pool")
    best = np.zeros((len(pictures), channels, *bins), np.int64)
    empty = np.zeros((len(pictures), 1, *bins), bool)
    scaled = rounded(corners * corners.dtype.type(scale))
    for k, (n, (x1, y1, x2, y2)) in enumerate(zip(pictures, scaled, strict=True)):
        rows = edges(y1, max(y2 - y1 + 1, 1), bins[0], tall, corners.dtype)
        columns = edges(x1, max(x2 - x1 + 1, 1), bins[1], wide, corners.dtype)
        for p, (top, bottom) in enumerate(rows):
            for q, (left, right) in enumerate(columns):
                if bottom <= top or right <= left:
                    empty[k, 0, p, q] = True
                    continue
                part = maps[n, :, top:bottom, left:right].reshape(channels, -1)
                y, x = np.divmod(part.argmax(1), right - left)
                best[k, :, p, q] = (top + y) * wide + left + x
    picture = from_numpy(np.array(pictures, np.int64))[:, None, None]
    channel = from_numpy(np.arange(channels))[:, None]
    places = from_numpy(best).flatten(2)
    found = input.flatten(2)[picture, channel, places]
    values = found.reshape(best.shape).masked_fill(from_numpy(empty), 0)
    return values, from_numpy(np.where(empty, -1, best).astype(np.int32))
