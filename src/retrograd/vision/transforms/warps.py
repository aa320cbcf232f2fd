"""Transforms of where the pixels are: turned, moved, sheared pictures, and in perspective."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import nn
from ...dtypes import float32
from ...ops.creation.factories import ones
from ...ops.creation.from_data import from_numpy
from ...ops.elementwise.clamp_where import where
from ...ops.shape.join import cat
from ...quiet import Quiet
from ..pictures import is_picture
from .basics import PILLOWS, InterpolationMode, checked, get_dimensions

if TYPE_CHECKING:
    from ...engine.tensor import Tensor

__all__ = ["affine", "perspective", "rotate"]

AFFINE, PERSPECTIVE = 0, 2  # Pillow's numbers


def inverse_affine(center: Any, angle: float, translate: Any, scale: float, shear: Any) -> Any:
    """Where pixels come from, a matrix (2, 3), when a picture is turned, scaled and moved."""
    turn, x, y = (math.radians(each) for each in (angle, *shear))
    a, c = math.cos(turn - y) / math.cos(y), math.sin(turn - y) / math.cos(y)
    b = -math.cos(turn - y) * math.tan(x) / math.cos(y) - math.sin(turn)
    d = -math.sin(turn - y) * math.tan(x) / math.cos(y) + math.cos(turn)
    matrix = np.array([[d, -b], [-c, a]]) / scale
    shift = np.array(center) - matrix @ (np.array(center) + translate)
    return np.concatenate([matrix, shift[:, None]], 1)


def filled(fill: Any, img: Any) -> Any:
    """The colour outside as Pillow takes it: a number or one for each band."""
    if fill is None or isinstance(fill, (int, float)):
        fill = fill or 0
        whole = img.mode not in ("F",)
        bands = len(img.getbands())
        value = int(fill) if whole else float(fill)
        return value if bands == 1 else (value,) * bands
    return tuple(int(each) for each in fill) if len(fill) > 1 else filled(fill[0], img)


def sampled(img: Tensor, grid: np.ndarray, mode: InterpolationMode, fill: Any) -> Tensor:
    """`img` read at coordinates (H', W', 2) from -1 to 1, `fill` where they are outside."""
    if mode not in (InterpolationMode.NEAREST, InterpolationMode.BILINEAR):
        raise ValueError(
            f"This interpolation mode is unsupported with Tensor input: {mode}. Use NEAREST or "
            "BILINEAR"
        )
    dtype = img.dtype if img.is_floating_point() else float32
    batch = img.reshape(-1, *img.shape[-3:]).to(dtype)
    points = from_numpy(grid).to(dtype).expand(len(batch), *grid.shape)
    if fill is not None:
        batch = cat([batch, ones(len(batch), 1, *batch.shape[2:], dtype=dtype)], 1)
    out = nn.functional.grid_sample(batch, points, mode.value, align_corners=False)
    if fill is not None:
        out, inside = out[:, :-1], out[:, -1:]
        colour = np.atleast_1d(np.asarray(fill, float)).reshape(1, -1, 1, 1)
        outside = from_numpy(colour).to(dtype).expand_as(out)
        if mode is InterpolationMode.NEAREST:
            out = where(inside < 0.5, outside, out)
        else:
            out = out * inside + (1.0 - inside) * outside
    out = out if img.is_floating_point() else out.round()
    return out.to(img.dtype).reshape(*img.shape[:-2], *grid.shape[:2])


def affine_grid(matrix: np.ndarray, wide: int, tall: int, size: tuple[int, int]) -> np.ndarray:
    """Coordinates (H', W', 2) for `sampled` of a picture (tall, wide), at a size (W', H')."""
    width, height = size
    x, y = np.arange(width) - (width - 1) / 2, np.arange(height) - (height - 1) / 2
    points = np.stack([*np.meshgrid(x, y), np.ones((height, width))], -1)
    return points @ matrix.T / (0.5 * wide, 0.5 * tall)


def affine(
    img: Any,
    angle: float,
    translate: Any,
    scale: float,
    shear: Any,
    interpolation: InterpolationMode = InterpolationMode.NEAREST,
    fill: Any = None,
    center: Any = None,
) -> Any:
    """`img` turned clockwise by degrees, sheared, scaled and moved by (right, down) pixels.

    `shear` is degrees along x, or along x and y; `center` is (x, y), by default the middle.

    >>> x = rg.tensor([[[1, 2, 3]]])
    >>> rg.vision.transforms.functional.affine(x, 0, (1, 0), 1.0, 0.0)
    tensor([[[0, 1, 2]]])
    """
    if scale <= 0.0:
        raise ValueError("Argument scale should be positive")
    mode = InterpolationMode(interpolation)
    shears = [shear, 0.0] if isinstance(shear, (int, float)) else [*shear, 0.0][:2]
    _, tall, wide = get_dimensions(img)
    if is_picture(checked(img, "affine")):
        middle = [wide * 0.5, tall * 0.5] if center is None else center
        matrix = inverse_affine(middle, angle, translate, scale, shears)
        data = matrix.ravel().tolist()
        return img.transform(img.size, AFFINE, data, PILLOWS[mode], fillcolor=filled(fill, img))
    middle = (0.0, 0.0) if center is None else (center[0] - wide * 0.5, center[1] - tall * 0.5)
    matrix = inverse_affine(middle, angle, translate, scale, shears)
    return sampled(img, affine_grid(matrix, wide, tall, (wide, tall)), mode, fill)


def rotate(
    img: Any,
    angle: float,
    interpolation: InterpolationMode = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Any = None,
    fill: Any = None,
) -> Any:
    """`img` turned counter-clockwise by degrees about `center`, (x, y), by default the middle.

    `expand` makes room for all of it.

    >>> rg.vision.transforms.functional.rotate(rg.tensor([[[1, 2], [3, 4]]]), 90)
    tensor([[[2, 4],
             [1, 3]]])
    """
    mode = InterpolationMode(interpolation)
    if is_picture(checked(img, "rotate")):
        return img.rotate(angle, PILLOWS[mode], expand, center, fillcolor=filled(fill, img))
    _, tall, wide = get_dimensions(img)
    middle = (0.0, 0.0) if center is None else (center[0] - wide * 0.5, center[1] - tall * 0.5)
    matrix = inverse_affine(middle, -angle, (0.0, 0.0), 1.0, (0.0, 0.0))
    size = (wide, tall)
    if expand:
        half = np.array([wide / 2, tall / 2])
        corners = np.array([[x, y, 1.0] for x in (-1, 1) for y in (-1, 1)]) * [*half, 1.0]
        ends = corners @ matrix.T + half
        least, most = (np.trunc(each * 1e4) / 1e4 for each in (ends.min(0), ends.max(0)))
        width, height = (np.ceil(most) - np.floor(least)).astype(int).tolist()
        size = (width, height)
    return sampled(img, affine_grid(matrix, wide, tall, size), mode, fill)


def perspective(
    img: Any,
    startpoints: Any,
    endpoints: Any,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    fill: Any = None,
) -> Any:
    """`img` as seen where its four corners `startpoints`, (x, y), are at `endpoints`.

    >>> corners = [[0, 0], [1, 0], [1, 1], [0, 1]]
    >>> rg.vision.transforms.functional.perspective(rg.ones(1, 2, 2), corners, corners)
    tensor([[[1., 1.],
             [1., 1.]]])
    """
    mode = InterpolationMode(interpolation)
    system, known = np.zeros((8, 8)), np.array(startpoints, float).reshape(8)
    for n, ((x, y), (u, v)) in enumerate(zip(endpoints, startpoints, strict=True)):
        system[2 * n] = [x, y, 1, 0, 0, 0, -u * x, -u * y]
        system[2 * n + 1] = [0, 0, 0, x, y, 1, -v * x, -v * y]
    found = np.linalg.lstsq(system, known, rcond=None)[0].astype(np.float32)
    if is_picture(checked(img, "perspective")):
        data, colour = found.tolist(), filled(fill, img)
        return img.transform(img.size, PERSPECTIVE, data, PILLOWS[mode], fillcolor=colour)
    _, tall, wide = get_dimensions(img)
    x, y = np.meshgrid(np.arange(wide) + 0.5, np.arange(tall) + 0.5)
    points = np.stack([x, y, np.ones_like(x)], -1)
    over = points @ found[:6].reshape(2, 3).T.astype(float) / (0.5 * wide, 0.5 * tall)
    under = points @ np.array([found[6], found[7], 1.0])
    with Quiet():  # a point on the horizon is at no place
        grid = over / under[..., None] - 1.0
    return sampled(img, grid, mode, fill)
