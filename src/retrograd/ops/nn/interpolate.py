"""Rearranging and resampling images: pixel shuffles and interpolation.

Interpolation along one dimension reads a few entries by index and adds them up with weights; more
dimensions are done one after the other, since the weights are products.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ...dtypes import half
from ...engine.dispatch import as_non_view
from ...engine.op import camel_case
from ...engine.registry import declare, example, name_node
from ...engine.tensor import Tensor
from ...kernels.allocation import empty, table, zeros
from ...kernels.layout import channels_inside
from ..core.engine_ops import grad_in_format
from ..core.pointwise import unsupported
from ..creation.memory_format import in_order_of
from ..shape.reshape import in_own_memory
from .adaptive_pool import adaptive_avg_pool
from .sizes import sizes_in

MODES = {"nearest": None, "nearest-exact": None, "area": None, "linear": 1, "bilinear": 2,
         "bicubic": 2, "lanczos": 2, "trilinear": 3}  # fmt: skip
NEAREST = {"nearest": 0.0, "nearest-exact": 0.5}  # where in an output entry it is read
KEPT = {("nearest", 2), ("linear", 1), ("bilinear", 2), ("trilinear", 3)}  # mode, dimensions
CUBIC = -0.75  # the free parameter of the cubic kernel, PyTorch's choice


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(*, C r^2, H, W) to (*, C, H r, W r): groups of r^2 channels become blocks of pixels.

    Raises RuntimeError where r^2 does not divide the channels. Source: Shi et al., 2016.

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
    blocks = grad_in_format(input).reshape(*lead, c // (r * r), r, r, h, w)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return arranged_as(
        input, blocks.permute(*order).reshape(*lead, c // (r * r), h * r, w * r), "PixelShuffle"
    )


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """The inverse of `pixel_shuffle`: (*, C, H r, W r) to (*, C r^2, H, W).

    Raises RuntimeError where `downscale_factor` is not positive or does not divide the sizes.

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
    blocks = grad_in_format(input).reshape(*lead, c, h // r, r, w // r, r)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return arranged_as(
        input, blocks.permute(*order).reshape(*lead, c * r * r, h // r, w // r), "PixelUnshuffle"
    )


def arranged_as(input: Tensor, found: Tensor, name: str) -> Tensor:
    """What was made of images, in memory of its own: its channels lie as theirs."""
    return name_node(in_order_of(input, in_own_memory(found, input)), f"{name}Backward0")


def _check_image(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {len(shape)} "
            "dimension(s)"
        )


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """(N, C, ...) with the channels of `groups` groups interleaved.

    Raises RuntimeError where the groups do not divide the channels. Source: Zhang et al., 2018.

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
    return arranged_as(input, grouped.transpose(1, 2).reshape(shape), "ChannelShuffle")


# -- interpolation ------------------------------------------------------------------------------


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
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
    RuntimeError for an empty input or output ("area" allows both).

    >>> rg.nn.functional.interpolate(rg.tensor([[[0.0, 4.0]]]), scale_factor=2, mode="linear")
    tensor([[[0., 1., 3., 4.]]])
    """
    shape = input._array.shape
    sizes, scales = _sizes(shape[2:], size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError(
            "recompute_scale_factor is not meaningful with an explicit size. Leave it out, or "
            "write scale_factor for size"
        )
    _check_mode(input, mode, align_corners, antialias)
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
    if max(sizes) >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(sizes)}")
    if recompute_scale_factor:
        scales = (None,) * len(sizes)
    if mode == "area":
        return adaptive_avg_pool("interpolate", len(sizes), input, sizes)
    _check_dtype(input, mode)
    ndim, inside = len(shape), channels_inside(input._array)
    given = input
    if inside:
        input = input.permute(0, *range(2, ndim), 1)
    for k in reversed(range(len(sizes))):
        found, dim = shape[2 + k], k + (1 if inside else 2)
        # As in PyTorch: elsewhere a scale counts even where it leaves the size as it is.
        is_kept = sizes[k] == found and (antialias or (mode, len(sizes)) in KEPT)
        scale = None if is_kept else scales[k]
        if mode in NEAREST:
            taps = _nearest(found, sizes[k], scale, NEAREST[mode])
        else:
            taps = _taps(found, sizes[k], scale, mode, bool(align_corners), antialias)
        input = resample(input, dim=dim, taps=taps)
    if inside:
        input = as_non_view(input.permute(0, ndim - 1, *range(1, ndim - 1)), given)
    kind = camel_case(mode.replace("-", "_"))
    return name_node(input, f"Upsample{kind}{ndim - 2}D{'Aa' * antialias}Backward0")


def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """`interpolate` by its older name.

    >>> rg.nn.functional.upsample(rg.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: Any = None
) -> Tensor:
    """`interpolate` with mode "nearest", by its older name.

    >>> rg.nn.functional.upsample_nearest(rg.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    return interpolate(input, size, scale_factor)


def upsample_bilinear(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: Any = None
) -> Tensor:
    """`interpolate` with mode "bilinear" and `align_corners`, by its older name.

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
    if antialias and (mode not in SMOOTHING or ndim != 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires "
            f"a 4-D tensor as input, not {mode} with {ndim}-D"
        )
    if mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")


def _check_dtype(input: Tensor, mode: str) -> None:
    """Raise for integers, but for bytes that are copied, or are those of images."""
    dtype = input._array.dtype
    rounded = dtype == np.uint8 and (mode in NEAREST or MODES[mode] == 2)
    if dtype.kind not in "fcV" and not rounded:
        raise unsupported(f"interpolate with mode {mode!r}", dtype, "Convert first: x.float()")


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
        return sizes_in(values, "size", "interpolate"), (None,) * ndim
    return tuple([math.floor(n * f) for n, f in zip(shape, values, strict=True)]), values


# -- weights ------------------------------------------------------------------------------------


class Taps:
    """A sparse matrix: output i is the sum of the entries `index[:, i]` times `weights[:, i]`.

    A weight of 0 touches nothing: an infinite value is seen only where it has a weight. Nobody
    writes to what this holds.
    """

    def __init__(self, index: Any, weights: Any, size: int) -> None:
        self.index, self.weights = index, weights  # both (taps, outputs)
        self.size = size  # how many entries there are to read
        self.known: dict[Any, list[tuple[Any, Any, Any]]] = {}  # by dtype: `steps`

    def __repr__(self) -> str:
        return f"Taps({self.index.tolist()}, {self.weights.tolist()}, {self.size})"

    def steps(self, dtype: Any) -> list[tuple[Any, Any, Any]]:
        """For each tap: the outputs that it adds to, None for all; what it reads; its weights.

        The weights are None where all are 1.
        """
        if dtype not in self.known:
            found = []
            for read, weight in zip(self.index, self.weights.astype(dtype), strict=True):
                rows = np.flatnonzero(weight)
                factors = weight[rows] if (weight[rows] != 1).any() else None
                found.append((None if len(rows) == len(read) else rows, read[rows], factors))
            self.known[dtype] = found
        return self.known[dtype]

    @cached_property
    def T(self) -> Taps:  # noqa: N802 (NumPy's name)
        """The transposed matrix, whose product is the adjoint."""
        tap, out = np.nonzero(self.weights)
        order = np.argsort(self.index[tap, out], kind="stable")
        tap, out = tap[order], out[order]
        read = self.index[tap, out]
        count = np.bincount(read, minlength=self.size)
        place = np.arange(len(read)) - np.repeat(np.cumsum(count) - count, count)
        index = np.zeros((count.max(initial=0), self.size), np.int64)
        weights = np.zeros(index.shape, self.weights.dtype)
        index[place, read], weights[place, read] = out, self.weights[tap, out]
        return Taps(index, weights, self.index.shape[1])


@lru_cache(maxsize=32)
def _nearest(found: int, n: int, scale: float | None, offset: float) -> Taps:
    """What each of n entries copies of `found`; in float32, which decides ties, as in PyTorch."""
    step = np.float32(found / n if scale is None else 1.0 / scale)
    place = np.arange(n, dtype=np.float32) + np.float32(offset)
    index = np.minimum(place * step, found - 1).astype(np.int64)
    return Taps(index[None], np.ones((1, n)), found)


@lru_cache(maxsize=32)
def _taps(
    found: int, n: int, scale: float | None, mode: str, align_corners: bool, antialias: bool
) -> Taps:
    """What the n output entries add up of `found` input entries."""
    kernel, width = SMOOTHING[mode] if antialias else KERNELS[mode]
    place = np.arange(n)
    if align_corners:
        step = (found - 1) / (n - 1) if n > 1 else 0.0
    else:
        step = found / n if scale is None else 1.0 / scale
    if antialias:  # the kernel is stretched where entries are left out
        stretch = max(step, 1.0)
        centre, reach = step * (place + 0.5), width * stretch
        low = np.maximum(centre - reach + 0.5, 0).astype(np.int64)
        high = np.minimum(centre + reach + 0.5, found).astype(np.int64)
        index = low + np.arange((high - low).max())[:, None]
        weights = np.where(index < high, kernel(np.abs(index - centre + 0.5) / stretch), 0.0)
        return Taps(np.minimum(index, found - 1), weights / weights.sum(0), found)
    source = place * step if align_corners else (place + 0.5) * step - 0.5
    if mode != "bicubic":
        source = np.maximum(source, 0.0)
    spread = np.floor(source) + np.arange(1 - width, width + 1)[:, None]
    inside = np.clip(spread, 0, found - 1).astype(np.int64)
    first = inside.min(0)
    weights = np.zeros(spread.shape)  # what lies beyond the edge counts for the edge
    np.add.at(weights, (inside - first, place), kernel(np.abs(source - spread)))
    index = first + np.arange(2 * width)[:, None]
    return Taps(np.minimum(index, found - 1), weights, found)


def _linear(x: Any) -> Any:
    return np.maximum(1 - x, 0)


def _cubic(x: Any, slope: float = CUBIC) -> Any:
    """Keys' cubic convolution kernel at distances 0 to 2."""
    near = ((slope + 2) * x - (slope + 3)) * x * x + 1
    far = ((slope * x - 5 * slope) * x + 8 * slope) * x - 4 * slope
    return np.where(x <= 1, near, far)


# How distances are weighed, and how many entries on either side have a weight.
KERNELS: dict[str, tuple[Any, int]] = {
    "linear": (_linear, 1),
    "bilinear": (_linear, 1),
    "trilinear": (_linear, 1),
    "bicubic": (_cubic, 2),
}
SMOOTHING: dict[str, tuple[Any, int]] = {  # with antialiasing; outside, a kernel is 0
    "bilinear": (_linear, 1),
    "bicubic": (lambda x: np.where(x < 2, _cubic(x, -0.5), 0), 2),
    "lanczos": (lambda x: np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0), 3),
}


# -- resampling ---------------------------------------------------------------------------------


def _resample(input: Any, *, dim: int, taps: Taps) -> Any:
    kind = input.dtype
    if kind.kind == "c":  # an infinite part would make NaN of the other one
        parts = [_resample(part, dim=dim, taps=taps) for part in (input.real, input.imag)]
        out = empty(input, parts[0].shape)
        out.real[...], out.imag[...] = parts
        return out
    if kind.kind == "u" and len(taps.index) > 1:
        return _in_fixed_point(input, dim, taps)
    x = input.astype(np.float32) if half(kind) else input
    return _summed(x, dim, taps).astype(kind, copy=False)


def _in_fixed_point(x: Any, dim: int, taps: Taps) -> Any:
    """Bytes, with weights of 16 bits and the result rounded and clipped, as image libraries do."""
    room = 2.0**15 - 0.5
    bits = min(int(np.ceil(np.log2(room / taps.weights.max()))) - 1, 22)
    scaled = taps.weights * 2.0**bits
    weights = np.trunc(scaled + np.copysign(0.5, scaled)).astype(np.int32)
    total = _summed(x.astype(np.int32), dim, Taps(taps.index, weights, taps.size))
    return np.clip((total + (1 << (bits - 1))) >> bits, 0, 255).astype(x.dtype)


def _summed(x: Any, dim: int, taps: Taps) -> Any:
    """The sums of entries along `dim` that `taps` describes, in the dtype of `x`."""
    lead, trail = (slice(None),) * dim, [1] * (x.ndim - dim - 1)
    out = None
    for rows, read, factors in taps.steps(x.dtype):
        part = x.take(table(x, read), axis=dim)
        if factors is not None:
            part *= table(x, factors.reshape(-1, *trail))
        if out is None and rows is None:
            out = part
            continue
        if out is None:
            out = zeros(x, (*x.shape[:dim], taps.index.shape[1], *x.shape[dim + 1 :]))
        out[lead if rows is None else (*lead, rows)] += part
    return out


_EXAMPLE = Taps(np.array([[0, 1, 2], [1, 2, 3]]), np.array([[0.5, 1.0, 0.25], [0.5, 0.0, 2.0]]), 4)

resample = declare(
    "resample(input, *, dim, taps)",
    _resample,
    input=lambda xp, g, dim, taps: xp.resample(g, dim=dim, taps=taps.T),
    linear="input",
    examples=[example("3x4", dim=1, taps=_EXAMPLE), example("3x2", dim=0, taps=_EXAMPLE.T.T.T)],
    doc="""A sparse matrix, as few weights for each output entry, applied along a dimension.""",
)
