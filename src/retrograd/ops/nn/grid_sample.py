"""Sampling images and volumes at points: `affine_grid` makes the points, `grid_sample` reads there.

Both are compositions, so every order of derivative follows. A coordinate is floating; the entries
around it are read by index and added up with weights that are polynomials of its fractional part.

NOTE [Points and entries]
1. A point of the grid has coordinates from -1 to 1, the fastest dimension (columns) first.
2. `align_corners` says what -1 and 1 are: the centres of the corner entries, or their outer edges.
3. Outside, `padding_mode` decides: entries count as zeros, or the coordinate is moved to the border
   or reflected there. A coordinate on the border itself, or moved to it, has derivative 0.
4. A NaN coordinate reads zeros, or the first entry where coordinates are moved.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.dispatch import as_non_view
from ...engine.registry import name_node
from ...engine.tensor import Tensor, constant_like
from ..creation.factories import evenly
from ..elementwise.clamp_where import where
from ..shape.join import stack

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
CUBIC = -0.75  # the free parameter of Keys' kernel, PyTorch's choice
UNSAID = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
    "Say which of the two is meant, here for the old one: {name}(..., align_corners=True)"
)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The points `theta @ (x, y, 1)` for all entries of images of the shape `size`.

    theta: (N, 2, 3) with size (N, C, H, W), or (N, 3, 4) with size (N, C, D, H, W); floating or
    complex. Returns (N, H, W, 2) or (N, D, H, W, 3), for `grid_sample`. Warns where `align_corners`
    is not said. Raises ValueError for other shapes and dtypes of `theta`, RuntimeError for another
    N, NotImplementedError for a `size` of other than 4 or 5 numbers. Source: Jaderberg et al.,
    2015.

    >>> theta = rg.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> rg.nn.functional.affine_grid(theta, (1, 1, 1, 2), align_corners=False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    if theta._array.dtype.kind not in "fcV":
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {tuple(size)}."
        )
    shape = (dims, dims + 1)
    if theta._array.ndim != 3 or theta._array.shape[1:] != shape:
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{shape[0]}x{shape[1]} for "
            f"size {tuple(size)}. Got {tuple(theta.shape)}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {tuple(size)}")
    if len(theta) != size[0]:
        raise RuntimeError(
            f"Expected one affine matrix for each of {size[0]} images of size {tuple(size)}, but "
            f"theta has {len(theta)}. Write theta.expand({size[0]}, -1, -1) for one that all share"
        )
    if align_corners is None:
        warnings.warn(UNSAID.format(name="affine_grid"), stacklevel=2)
    dtype = theta._array.dtype
    axes = [_centres(n, bool(align_corners), dtype) for n in size[2:]]
    places = np.stack([*reversed(np.meshgrid(*axes, indexing="ij")), np.ones(size[2:], dtype)], -1)
    flat = constant_like(places.reshape(1, -1, dims + 1), theta)
    points = flat @ theta.transpose(1, 2)
    return name_node(
        as_non_view(points.reshape(theta.shape[0], *size[2:], dims)), "AffineGridGeneratorBackward0"
    )


def _centres(n: int, align_corners: bool, dtype: Any) -> Any:
    """The coordinates of the centres of n entries, as an array of a dtype.

    They have PyTorch's bits: where a point lies on an entry, their rounding decides between the
    derivatives on its two sides.
    """
    if n == 1:
        return np.zeros(1, dtype)
    step = np.asarray(2 / (n - 1)).astype(dtype).real.astype(np.float64)
    places = evenly(-1, 1, step, np.arange(n)).astype(dtype)
    return places if align_corners else places * dtype.type(n - 1) / dtype.type(n)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """The values of `input` between its entries, at the points of `grid`.

    input: (N, C, H, W) with grid (N, H', W', 2), or (N, C, D, H, W) with grid (N, D', H', W', 3),
    last the coordinates: NOTE [Points and entries]. Real or complex, the grid real and of the same
    precision. mode: "bilinear" (trilinear for volumes), "nearest" (the derivative by the grid is
    0), "bicubic" (images only). padding_mode: "zeros", "border", "reflection". Returns
    (N, C, H', W') or (N, C, D', H', W'). Warns where `align_corners` is not said. Raises ValueError
    for other modes, RuntimeError for shapes and dtypes that do not fit.

    >>> image = rg.tensor([[[[0.0, 1.0], [2.0, 3.0]]]])
    >>> point = rg.zeros(1, 1, 1, 2)
    >>> rg.nn.functional.grid_sample(image, point, align_corners=True)
    tensor([[[[1.5000]]]])
    """
    for value, known, name in ((mode, MODES, "mode"), (padding_mode, PADDINGS, "padding_mode")):
        if value not in known:
            raise ValueError(
                f"nn.functional.grid_sample(): expected {name} to be "
                f"{', '.join(repr(k) for k in known[:-1])}, or {known[-1]!r}, but got: {value!r}"
            )
    if align_corners is None:
        warnings.warn(UNSAID.format(name="grid_sample"), stacklevel=2)
    _check_sample(input, grid, mode)
    sizes = input._array.shape[2:]
    align = bool(align_corners)
    pixels = [
        _to_pixel(grid.select(-1, place), n, align) for place, n in enumerate(reversed(sizes))
    ][::-1]
    taps = [_taps(x, n, mode, padding_mode, align) for x, n in zip(pixels, sizes, strict=True)]
    return name_node(_read(input, taps), f"GridSampler{input.ndim - 2}DBackward0")


def _check_sample(input: Tensor, grid: Tensor, mode: str) -> None:
    """Raise unless the grid fits the input."""
    ndim, start = input._array.ndim, "grid_sampler(): "
    if ndim not in (4, 5) or grid._array.ndim != ndim:
        raise RuntimeError(
            f"{start}expected 4D or 5D input and grid with same number of dimensions, but got "
            f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if dtypes.real_of(input._array.dtype) != grid._array.dtype:
        raise RuntimeError(
            f"{start}expected input and grid to have same dtype, but input has {input.dtype} and "
            f"grid has {grid.dtype}. A complex input takes a real grid; convert with grid.to(...)"
        )
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            f"{start}expected grid and input to have same batch size, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[-1] != ndim - 2:
        raise RuntimeError(
            f"{start}expected grid to have size {ndim - 2} in last dimension, but got grid with "
            f"sizes {list(grid.shape)}"
        )
    if 0 in input._array.shape[2:]:
        raise RuntimeError(
            f"{start}expected input to have non-empty spatial dimensions, but input has sizes "
            f"{list(input.shape)} with dimension {2 + input._array.shape[2:].index(0)} being empty"
        )
    if mode == "bicubic" and ndim == 5:
        raise RuntimeError(f"{start}bicubic interpolation only supports 4D input")


def _to_pixel(x: Any, n: int, align: bool) -> Any:
    """A coordinate in [-1, 1] as a place among n entries."""
    return (x + 1) * ((n - 1) / 2) if align else ((x + 1) * n - 1) / 2


def _taps(x: Any, n: int, mode: str, padding: str, align: bool) -> list[tuple[Any, Any]]:
    """Pairs (index, weight) along one dimension; the weight is 0 outside."""
    if mode == "bicubic":
        low = x.floor()
        part = x - low
        weights = [_far(part + 1), _near(part), _near(1 - part), _far(2 - part)]
        places = [_moved(low + k, n, padding, align) for k in (-1, 0, 1, 2)]
        return [_inside(place, w, n) for place, w in zip(places, weights, strict=True)]
    x = _moved(x, n, padding, align)
    if mode == "nearest":
        place = x.round()
        return [_inside(place, place * 0 + 1, n)]  # a weight with history, whose derivative is 0
    low = x.floor()
    return [_inside(low, low + 1 - x, n), _inside(low + 1, x - low, n)]


def _near(x: Any) -> Any:
    """Keys' cubic convolution kernel at distances 0 to 1."""
    return ((CUBIC + 2) * x - (CUBIC + 3)) * x * x + 1


def _far(x: Any) -> Any:
    """The weights of cubic interpolation at distances 1 to 2."""
    return ((CUBIC * x - 5 * CUBIC) * x + 8 * CUBIC) * x - 4 * CUBIC


def _moved(x: Any, n: int, padding: str, align: bool) -> Any:
    """A place moved among the n entries, as `padding` says."""
    if padding == "zeros":
        return x
    if padding == "reflection":
        x = _reflected(x, n, align)
    zero = x.new_zeros(())
    return where(x > 0, where(x < n - 1, x, zero + (n - 1)), zero)


def _reflected(x: Any, n: int, align: bool) -> Any:
    """A place reflected at both ends as often as needed."""
    start, span = (0.0, n - 1) if align else (-0.5, n)
    if span == 0:
        return x * 0
    along = where(x < start, start - x, x - start)  # not abs, whose derivative at 0 is 0
    flips = (along / span).floor()
    rest = along.fmod(span)
    return where(flips % 2 == 0, rest, span - rest) + start


def _inside(place: Any, weight: Any, n: int) -> tuple[Any, Any]:
    """An index that is safe to read, with the weight that the entry then has."""
    inside = (place >= 0) & (place <= n - 1)
    zero = place.new_zeros(())
    return where(inside, place, zero).detach().long(), where(inside, weight, zero)


def _read(input: Tensor, taps: list[list[tuple[Any, Any]]]) -> Tensor:
    """The sum, over all combinations of taps, of the entries there times their weights."""
    batch, channels, *sizes = input._array.shape
    shape = taps[0][0][0]._array.shape[1:]
    indices, weights = [], []
    for corner in itertools.product(*taps):
        place, weight = 0, 1
        for (index, w), n in zip(corner, sizes, strict=True):
            place, weight = place * n + index, weight * w
        indices.append(place)
        weights.append(weight)
    count = len(indices)
    points = count * math.prod(shape)
    where_read = stack(indices, 1).reshape(batch, 1, points).expand(batch, channels, points)
    flat = input.reshape(batch, channels, math.prod(sizes))
    entries = flat.gather(2, where_read).reshape(batch, channels, count, *shape)
    return (entries * stack(weights, 1).unsqueeze(1)).sum(2)
