"""Rearranging and resampling images: pixel shuffles and interpolation.

Interpolation along one dimension reads a few entries by index and adds them up with weights; more
dimensions are done one after the other, since the weights are products.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.registry import declare, example
from ...engine.tensor import Tensor, placed
from ...kernels.allocation import empty, table, zeros
from .adaptive_pool import adaptive_avg_pool

__all__ = [
    "channel_shuffle",
    "interpolate",
    "pixel_shuffle",
    "pixel_unshuffle",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

MODES = {"nearest": None, "nearest-exact": None, "area": None, "linear": 1, "bilinear": 2,
         "bicubic": 2, "lanczos": 2, "trilinear": 3}  # fmt: skip
CUBIC = -0.75  # the free parameter of the cubic kernel, PyTorch's choice


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(*, C r^2, H, W) to (*, C, H r, W r): groups of r^2 channels become blocks of pixels.

    Raises RuntimeError where r^2 does not divide the channels. Source: PyTorch's `pixel_shuffle`;
    Shi et al., 2016.

    >>> import retrograd as rg
    >>> rg.nn.functional.pixel_shuffle(rg.tensor([[[1.0]], [[2.0]], [[3.0]], [[4.0]]]), 2)
    tensor([[[1., 2.],
             [3., 4.]]])
    """
    r, shape = upscale_factor, input._array.shape
    _check_image("pixel_shuffle", shape)
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    lead, (c, h, w) = shape[:-3], shape[-3:]
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={c} is not divisible by {r * r}"
        )
    n = len(lead)
    blocks = input.reshape(*lead, c // (r * r), r, r, h, w)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return blocks.permute(*order).reshape(*lead, c // (r * r), h * r, w * r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """The inverse of `pixel_shuffle`: (*, C, H r, W r) to (*, C r^2, H, W).

    Raises RuntimeError where `downscale_factor` is not positive or does not divide the sizes.

    >>> import retrograd as rg
    >>> rg.nn.functional.pixel_unshuffle(rg.ones(1, 4, 4), 2).shape
    retrograd.Size([4, 2, 2])
    """
    r, shape = downscale_factor, input._array.shape
    _check_image("pixel_unshuffle", shape)
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    lead, (c, h, w) = shape[:-3], shape[-3:]
    for name, place, size in (("height", -2, h), ("width", -1, w)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({place})={size} is not divisible by {r}"
            )
    n = len(lead)
    blocks = input.reshape(*lead, c, h // r, r, w // r, r)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return blocks.permute(*order).reshape(*lead, c * r * r, h // r, w // r)


def _check_image(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {len(shape)} "
            "dimension(s)"
        )


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """(N, C, ...) with the channels of `groups` groups interleaved.

    Raises RuntimeError where the groups do not divide the channels. Source: PyTorch's
    `channel_shuffle`; Zhang et al., 2018.

    >>> import retrograd as rg
    >>> rg.nn.functional.channel_shuffle(rg.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    shape = input._array.shape
    if len(shape) < 3:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}"
        )
    if groups <= 0 or shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} "
            "groups."
        )
    grouped = input.reshape(shape[0], groups, shape[1] // groups, *shape[2:])
    return grouped.transpose(1, 2).reshape(shape)


# -- interpolation ------------------------------------------------------------------------------


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resample the spatial dimensions of `input`, (N, C, ...), to `size` or by `scale_factor`.

    `mode` is "nearest", "nearest-exact", "area" (averages) or, by the number of spatial dimensions,
    "linear", "bilinear", "bicubic", "trilinear". With `align_corners` the centres of the corner
    pixels coincide, otherwise their outer corners. With `antialias` (images; "bilinear", "bicubic",
    and "lanczos", which needs it) the kernel is as wide as an output pixel where that covers more
    than one input pixel. Raises ValueError and NotImplementedError for arguments that do not fit,
    RuntimeError for an empty input or output ("area" allows both). Source: PyTorch's `interpolate`.

    >>> import retrograd as rg
    >>> rg.nn.functional.interpolate(rg.tensor([[[0.0, 4.0]]]), scale_factor=2, mode="linear")
    tensor([[[0., 1., 3., 4.]]])
    """
    shape = input._array.shape
    _check_mode(input, mode, align_corners, antialias)
    sizes, scales = _sizes(shape[2:], size, scale_factor)
    if mode == "area" and min(sizes) < 0:
        raise RuntimeError(
            "adaptive_avg_pool: elements of output_size must be greater than or equal to 0 but "
            f"received {sizes}"
        )
    if mode != "area" and min((*shape[2:], *sizes)) <= 0:
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"{list(shape[2:])} and output {list(sizes)}"
        )
    if recompute_scale_factor:
        scales = (None,) * len(sizes)
    if mode == "area":
        return adaptive_avg_pool("interpolate", len(sizes), input, sizes)
    for dim, (n, scale) in enumerate(zip(sizes, scales, strict=True), 2):
        if antialias:
            matrix = _smoothing(shape[dim], n, scale, mode, bool(align_corners))
            input = banded(input, dim=dim, matrix=matrix)
        else:
            places = _places(shape[dim], n, scale, mode, bool(align_corners))
            input = _read(input, dim, places)
    return input


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """`interpolate` by its older name.

    >>> import retrograd as rg
    >>> rg.nn.functional.upsample(rg.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode "nearest", by its older name.

    >>> import retrograd as rg
    >>> rg.nn.functional.upsample_nearest(rg.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode "bilinear" and `align_corners`, by its older name.

    >>> import retrograd as rg
    >>> rg.nn.functional.upsample_bilinear(rg.tensor([[[[0.0, 4.0]]]]), size=(1, 3))
    tensor([[[[0., 2., 4.]]]])
    """
    return interpolate(input, size, scale_factor, "bilinear", align_corners=True)


def _check_mode(input: Tensor, mode: str, align_corners: bool | None, antialias: bool) -> None:
    ndim = input._array.ndim
    if ndim not in (3, 4, 5) or mode not in MODES:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: "
            f"{' | '.join(MODES)} (got {mode})"
        )
    wanted = MODES[mode]
    if wanted is None and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear "
            "| bicubic | trilinear"
        )
    if wanted is not None and wanted + 2 != ndim:
        raise NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {wanted + 2}D input")
    if antialias and (mode not in KERNELS or ndim != 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires "
            f"a 4-D tensor as input, not {mode} with {ndim}-D"
        )
    if mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")


def _sizes(shape: tuple[int, ...], size: Any, scale_factor: Any) -> tuple[Any, Any]:
    """The output sizes, and the scales asked for (None where only the size is given)."""
    ndim = len(shape)
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    given = size if size is not None else scale_factor
    if given is None:
        raise ValueError("either size or scale_factor should be defined")
    values = tuple(given) if isinstance(given, (tuple, list)) else (given,) * ndim
    if len(values) != ndim:
        name = "output size" if size is not None else "scale_factor"
        raise ValueError(
            "Input and output must have the same number of spatial dimensions, but got input with "
            f"spatial dimensions of {list(shape)} and {name} of {given}. Please provide input "
            "tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format."
        )
    if size is not None:
        return values, (None,) * ndim
    return tuple([math.floor(n * f) for n, f in zip(shape, values, strict=True)]), values


def _banded(input: Any, *, dim: int, matrix: Any) -> Any:
    kind = input.dtype
    if kind.kind == "c":  # an infinite part would make NaN of the other one
        parts = [_banded(part, dim=dim, matrix=matrix) for part in (input.real, input.imag)]
        out = empty(input, parts[0].shape)
        out.real[...], out.imag[...] = parts
        return out
    rows_first = np.moveaxis(input if kind.itemsize > 2 else input.astype(np.float32), dim, 0)
    out = zeros(rows_first, (len(matrix), *rows_first.shape[1:]))
    present = matrix != 0
    first, count = present.argmax(1), matrix.shape[1] - present[:, ::-1].argmax(1)
    for step in range((count - first).max(initial=0)):
        tap = np.minimum(first + step, matrix.shape[1] - 1)
        rows = np.flatnonzero((first + step < count) & present[np.arange(len(tap)), tap])
        weights = table(rows_first, matrix[rows, tap[rows]].astype(rows_first.dtype))
        out[rows] += rows_first[tap[rows]] * weights.reshape(-1, *[1] * (rows_first.ndim - 1))
    return np.moveaxis(out, 0, dim).astype(kind, copy=False)


banded = declare(
    "banded(input, *, dim, matrix)",
    _banded,
    input=lambda xp, g, dim, matrix: xp.banded(g, dim=dim, matrix=matrix.T),
    linear="input",
    examples=[
        example("3x4", dim=1, matrix=np.array([[0.5, 0.25, 0, 0], [0, 0.5, 0, 2.0]])),
        example("2x3", dim=0, matrix=np.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.0]])),
    ],
    doc="""A matrix whose entries lie in a band, applied along a dimension; its zeros touch nothing:
    an infinite value is seen only where it has a weight.""",
)


def _smoothing(found: int, n: int, scale: float | None, mode: str, align_corners: bool) -> Any:
    """The weights (n, found) of a kernel that is stretched where entries are left out."""
    kernel, width = KERNELS[mode]
    if align_corners:
        step = (found - 1) / (n - 1) if n > 1 else 0.0
    else:
        step = 1.0 / scale if scale is not None else found / n if n else 0.0
    stretch = max(step, 1.0)
    centre = step * (np.arange(n)[:, None] + 0.5)
    place = np.arange(found)
    reach = width * stretch
    covered = (place >= np.trunc(np.maximum(centre - reach + 0.5, 0))) & (
        place < np.trunc(np.minimum(centre + reach + 0.5, found))
    )
    weights = np.where(covered, kernel(np.abs(place - centre + 0.5) / stretch), 0.0)
    return weights / weights.sum(1, keepdims=True)


def _places(
    found: int, n: int, scale: float | None, mode: str, align_corners: bool
) -> list[tuple[Any, Any]]:
    """Pairs (index, weight): what the n output entries add up of `found` input entries."""
    place = np.arange(n, dtype=np.float64)
    step = 1.0 / scale if scale is not None else found / n if n else 0.0
    if mode == "nearest":
        index = np.floor(place * step)
        return [(np.minimum(index, found - 1).astype(np.int64), None)]
    if mode == "nearest-exact":
        index = np.floor((place + 0.5) * step)
        return [(np.minimum(index, found - 1).astype(np.int64), None)]
    if align_corners:
        source = place * ((found - 1) / (n - 1) if n > 1 else 0.0)
    else:
        source = (place + 0.5) * step - 0.5
    if mode != "bicubic":
        source = np.maximum(source, 0.0)
        low = np.minimum(np.floor(source), found - 1)
        high = np.minimum(low + 1, found - 1)
        part = source - low
        return [(low.astype(np.int64), 1.0 - part), (high.astype(np.int64), part)]
    low = np.floor(source)
    part = source - low
    return [
        (np.clip(low + k, 0, found - 1).astype(np.int64), _cubic(np.abs(part - k)))
        for k in (-1, 0, 1, 2)
    ]


def _cubic(x: Any, slope: float = CUBIC) -> Any:
    """Keys' cubic convolution kernel at distances 0 to 2."""
    near = ((slope + 2) * x - (slope + 3)) * x * x + 1
    far = ((slope * x - 5 * slope) * x + 8 * slope) * x - 4 * slope
    return np.where(x <= 1, near, far)


# How antialiasing weighs distances, and how far it reaches; outside, a kernel is 0.
KERNELS: dict[str, tuple[Any, float]] = {
    "bilinear": (lambda x: np.maximum(1 - x, 0), 1.0),
    "bicubic": (lambda x: np.where(x < 2, _cubic(x, -0.5), 0), 2.0),
    "lanczos": (lambda x: np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0), 3.0),
}


def _read(input: Tensor, dim: int, places: list[tuple[Any, Any]]) -> Tensor:
    """The weighted sum of the entries at `places` along `dim`."""
    total: Any = None
    shape = [1] * input._array.ndim
    for index, weight in places:
        part = input.index_select(dim, placed(index, input))
        if weight is not None:
            shape[dim] = -1
            factor = weight.astype(dtypes.real_of(input._array.dtype)).reshape(shape)
            part = part * placed(factor, input)
        total = part if total is None else total + part
    return total  # type: ignore[no-any-return]
