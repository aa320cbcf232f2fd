"""Pooling over windows of one to three dimensions: maxima, means, and what undoes maxima.

`max_pool` saves the index of each window's first maximum; its derivative scatters to those indices,
and the derivative of that gathers from them. Means are linear: `avg_pool` and `avg_pool_input` are
each other's derivative. The loops are in `kernels.pooling`; adaptive bins in `adaptive_pool`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ... import dtypes
from ...engine.registry import declare, example, renamed
from ...engine.tensor import Tensor
from ...errors import wrong_type
from ...kernels import pooling
from ...kernels.allocation import check_together
from ...kernels.layout import channels_like
from ..core.engine_ops import piecewise
from ..core.pointwise import unsupported
from .sizes import Sizes, for_dims, per_dim

__all__ = ["avg_pool1d", "max_pool1d", "max_pool2d", "max_pool3d"]


def window(dims: int, kernel: int, stride: int, padding: int, **more: Any) -> dict[str, Any]:
    """The parameters of an example of pooling, the same number for every dimension."""
    names = {"kernel": kernel, "stride": stride, "padding": padding}
    return {**{name: (value,) * dims for name, value in names.items()}, **more}


# -- records -----------------------------------------------------------------------------------


def like_images(x: Any, dims: int, *outs: Any, channel: int = 1) -> Any:
    """`channels_like`; sequences are images of one row, as in PyTorch."""
    return channels_like(x, *outs, channel=channel, least=3 if dims == 1 else 4)


max_pool_record = declare(
    "max_pool(input, *, kernel, stride, padding, dilation, ceil) -> out, indices",
    lambda x, *, kernel, stride, padding, dilation, ceil: like_images(
        x,
        len(kernel),
        *pooling.max_pool(x, kernel, stride, padding, dilation, ceil),
        channel=x.ndim - len(kernel) - 1,
    ),
    input=lambda xp, g, indices, input_shape, kernel: xp.pool_scatter(
        g, indices, size=input_shape[-len(kernel) :]
    ),
    nondiff=("indices",),
    piecewise=True,
    complex=False,
    batch="leading",
    examples=[
        example("2x6", **window(1, 2, 2, 0, dilation=(1,), ceil=False)),
        example("1x4x5", **window(2, 3, 2, 1, dilation=(1, 1), ceil=True)),
        example("1x7", **window(1, 3, 1, 1, dilation=(2,), ceil=False)),
        example("2x3x2", **window(2, 2, 1, 0, dilation=(1, 1), ceil=False)),
        example("1x3x2x2", **window(3, 2, 1, 0, dilation=(1, 1, 1), ceil=False)),
        example("0x4", **window(1, 2, 2, 0, dilation=(1,), ceil=False)),
    ],
    node_name="MaxPool2DWithIndicesBackward0",
    saved={"kernel_size": "kernel", "result1": "indices"},
)


pool_scatter = declare(
    "pool_scatter(input, indices, *, size)",
    lambda x, indices, *, size: like_images(
        indices, len(size), channels_like(x, pooling.scatter(x, indices, size))
    ),
    input=lambda xp, g, indices, size: xp.pool_gather(g, indices, dims=len(size)),
    linear="input",
    batch="leading",
    examples=[example("2x3, 2x3:int<4", size=(4,)), example("2x2x2, 2x2x2:int<6", size=(2, 3))],
    doc="""Zeros with `input` added at flat indices into the last dimensions, of sizes `size`.""",
)

pool_put = declare(
    "pool_put(input, indices, *, size)",
    lambda x, indices, *, size: channels_like(x, pooling.put(x, indices, size)),
    input=lambda xp, g, indices, size: xp.pool_gather(g, indices, dims=len(size)),
    linear="input",
    batch="leading",
    examples=[example("3x1, 3x1:int<4", size=(4,)), example("2x1x1, 2x1x1:int<6", size=(2, 3))],
    node_name="MaxUnpool2DBackward0",
    doc="""Zeros with `input` at flat indices into the last dimensions, of sizes `size`.

    Several elements with one index are one element, that of any of them: each has its derivative.
    """,
)

pool_gather = declare(
    "pool_gather(input, indices, *, dims)",
    lambda x, indices, *, dims: pooling.gather(x, indices, dims),
    input=lambda xp, g, indices, input_shape, dims: xp.pool_scatter(
        g, indices, size=input_shape[-dims:]
    ),
    linear="input",
    batch="leading",
    examples=[example("2x4, 2x3:int<4", dims=1), example("2x2x3, 2x2x2:int<6", dims=2)],
    node_name="FractionalMaxPool2DBackward0",
    doc="""The elements at flat indices into the last `dims` dimensions.""",
)

avg_pool_record = declare(
    "avg_pool(input, *, kernel, stride, padding, ceil, count_pad, divisor)",
    lambda x, *, kernel, stride, padding, ceil, count_pad, divisor: like_images(
        x, len(kernel), pooling.avg_pool(x, kernel, stride, padding, ceil, count_pad, divisor)
    ),
    input=lambda xp, g, input_shape, kernel, stride, padding, count_pad, divisor: (
        xp.channels_like_shape(
            input_shape,
            xp.avg_pool_input(
                g, size=input_shape[-len(kernel) :], kernel=kernel, stride=stride, padding=padding,
                count_pad=count_pad, divisor=divisor,
            ),
        )
    ),
    linear="input",
    piecewise=True,
    batch="leading",
    examples=[
        example("2x6", **window(1, 2, 2, 0, ceil=False, count_pad=True, divisor=None)),
        example("1x4x5", **window(2, 3, 2, 1, ceil=True, count_pad=False, divisor=None)),
        example("1x4x5", **window(2, 3, 2, 1, ceil=True, count_pad=True, divisor=None)),
        example("2x4x4", **window(2, 4, 4, 0, ceil=False, count_pad=True, divisor=3)),
        example("1x2x3x2", **window(3, 2, 1, 0, ceil=False, count_pad=True, divisor=None)),
    ],
    node_name="AvgPool2DBackward0",
    saved={
        "kernel_size": "kernel",
        "count_include_pad": "count_pad",
        "divisor_override": "divisor",
    },
)  # fmt: skip

avg_pool_input = declare(
    "avg_pool_input(input, *, size, kernel, stride, padding, count_pad, divisor)",
    lambda g, *, size, kernel, stride, padding, count_pad, divisor: like_images(
        g, len(size), pooling.avg_pool_input(g, size, kernel, stride, padding, count_pad, divisor)
    ),
    input=lambda xp, g, input_shape, size, kernel, stride, padding, count_pad, divisor: (
        xp.avg_pool(
            g, kernel=kernel, stride=stride, padding=padding, count_pad=count_pad, divisor=divisor,
            ceil=input_shape[-len(size) :]
            != pooling.pooled_size(size, kernel, stride, padding, (1,) * len(size), False),
        )
    ),
    linear="input",
    batch="leading",
    examples=[
        example("2x3", **window(1, 2, 2, 0, size=(6,), count_pad=True, divisor=None)),
        example("1x3x3", **window(2, 3, 2, 1, size=(4, 5), count_pad=False, divisor=None)),
    ],
    doc="""The adjoint of `avg_pool`, whose input has spatial sizes `size`.""",
)  # fmt: skip


# -- checks ------------------------------------------------------------------------------------


def check_input(name: str, dims: int, input: Tensor) -> None:
    """Raise unless `input` is `(C, *spatial)` or `(N, C, *spatial)`, with only N possibly 0."""
    if not isinstance(input, Tensor):
        raise wrong_type(name, "input", "Tensor", input, 1)
    low, shape = dims + 1, input._array.shape
    if len(shape) not in (low, low + 1) or 0 in shape[-low:]:
        raise RuntimeError(
            f"{name}(): non-empty {low}D or {low + 1}D (batch mode) tensor expected for input. "
            f"Expected {low}D or {low + 1}D (batch mode) tensor with optional 0 dim batch size for "
            f"input, but got:{list(shape)}"
        )


def windows(
    name: str,
    dims: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> tuple[Sizes, Sizes, Sizes, Sizes]:
    """Kernel, stride, padding and dilation per dimension, checked against the input."""
    check_input(name, dims, input)
    if input._array.dtype.kind == "b":
        raise unsupported(name, input._array.dtype, "Convert first: x.float()")
    kernel = per_dim(kernel_size, dims, "kernel_size", name)
    none = stride is None or (isinstance(stride, (tuple, list)) and not stride)
    steps = kernel if none else per_dim(stride, dims, "stride", name)
    pads = per_dim(padding, dims, "padding", name)
    gaps = per_dim(dilation, dims, "dilation", name)
    check_windows(name, input._array.shape[-dims - 1 :], kernel, steps, pads, gaps, bool(ceil_mode))
    return kernel, steps, pads, gaps


@lru_cache(maxsize=256)
def check_windows(
    name: str, shape: Sizes, kernel: Sizes, steps: Sizes, pads: Sizes, gaps: Sizes, ceil: bool
) -> None:
    """Raise unless such windows fit into images `(C, *spatial)` of a shape."""
    channels, *size = shape
    if 0 in steps:
        raise RuntimeError(f"{name}(): stride should not be zero; it must be greater than zero")
    if min(*kernel, *steps) <= 0:
        raise RuntimeError(
            f"{name}(): kernel size and stride should be greater than zero, but got kernel_size="
            f"{kernel}, stride={steps}"
        )
    if min(gaps) <= 0:
        raise RuntimeError(f"{name}(): dilation should be greater than zero, but got {gaps}")
    if min(pads) < 0:
        raise RuntimeError(f"{name}(): pad must be non-negative, but got pad: {min(pads)}")
    for p, k, d in zip(pads, kernel, gaps, strict=True):
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                f"{name}(): pad should be at most half of effective kernel size, but got pad={p}, "
                f"kernel_size={k} and dilation={d}"
            )
    out = pooling.pooled_size(tuple(size), kernel, steps, pads, gaps, ceil)
    if min(out) < 1:
        before, after = ("x".join(str(n) for n in (channels, *s)) for s in (size, out))
        raise RuntimeError(
            f"{name}(): Given input size: ({before}). Calculated output size: ({after}). Output "
            "size is too small"
        )


def of_dims(call: Any, node_name: str, dims: int) -> Any:
    """The caller of an op whose nodes have the name of `dims` dimensions; of one, a view's."""
    return renamed(call, node_name.format(dims) if dims > 1 else "SqueezeBackward1")


# -- maxima ------------------------------------------------------------------------------------


def largest(record: Any, input: Tensor, dims: int, **params: Any) -> Any:
    """A record's (maxima, indices); of complex numbers, those of the largest modulus."""
    if not input.dtype.is_complex:
        return record(input, **params)
    _, indices = record(input.detach().abs(), **params)
    return pool_gather(piecewise(input), indices, dims=dims), indices


def _max_pool(name: str, dims: int) -> Any:
    record = of_dims(max_pool_record, "MaxPool{}DWithIndicesBackward0", dims)

    def pool(
        input: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        kernel, steps, pads, gaps = windows(
            name, dims, input, kernel_size, stride, padding, dilation, ceil_mode
        )
        pooled = largest(
            record, input, dims, kernel=kernel, stride=steps, padding=pads, dilation=gaps,
            ceil=bool(ceil_mode),
        )  # fmt: skip
        return pooled if return_indices else pooled[0]

    return pool


max_pool1d, max_pool2d, max_pool3d = for_dims(
    _max_pool,
    "max_pool",
    """Maxima over windows of signals `(N, C, L)` or `(C, L)`.

    stride: the kernel size if not given; padding: at most half the kernel, counts as minus
    infinity; ceil_mode: windows may end beyond the input. Returns `(N, C, places)`, and with
    `return_indices` the int64 positions of the maxima. NaN counts as largest. The gradient goes to
    one element per window, the first maximum. Of complex numbers the one of the largest modulus is
    taken, whole. Raises RuntimeError for other ranks and windows that do not fit. Source: Trabelsi
    et al., ICLR 2018.

    >>> rg.max_pool1d(rg.tensor([[1.0, 3.0, 2.0, 2.0]]), 2)
    tensor([[3., 2.]])
    >>> rg.max_pool1d(rg.tensor([[1.0, -3j, 2.0, 2j]]), 2)
    tensor([[-0.-3.j, 2.+0.j]])
    """,
    """Maxima over windows of images `(N, C, H, W)` or `(C, H, W)`.

    Everything else is as for `max_pool1d`; indices are flat, `row * W + column`.

    >>> rg.max_pool2d(rg.tensor([[[1.0, 3.0], [2.0, 4.0]]]), 2, return_indices=True)
    (tensor([[[4.]]]), tensor([[[3]]]))
    """,
    """Maxima over windows of volumes `(N, C, D, H, W)` or `(C, D, H, W)`.

    Everything else is as for `max_pool1d`; indices are flat.

    >>> rg.max_pool3d(rg.ones(1, 1, 2, 2, 2), 2).shape
    retrograd.Size([1, 1, 1, 1, 1])
    """,
)


# -- means -------------------------------------------------------------------------------------


def _avg_pool(name: str, dims: int) -> Any:
    record = of_dims(avg_pool_record, "AvgPool{}DBackward0", dims)

    def pool(
        input: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        if divisor_override == 0:
            raise RuntimeError(f"{name}(): divisor must be not zero")
        kernel, steps, pads, _ = windows(
            name, dims, input, kernel_size, stride, padding, 1, ceil_mode
        )
        return record(  # type: ignore[no-any-return]
            input, kernel=kernel, stride=steps, padding=pads, ceil=bool(ceil_mode),
            count_pad=bool(count_include_pad), divisor=divisor_override,
        )  # fmt: skip

    def of_signals(
        input: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Tensor:
        return pool(input, kernel_size, stride, padding, ceil_mode, count_include_pad)

    return of_signals if dims == 1 else pool


avg_pool1d, avg_pool2d, avg_pool3d = for_dims(
    _avg_pool,
    "avg_pool",
    """Means over windows of signals `(N, C, L)` or `(C, L)`, real or complex.

    stride: the kernel size if not given; padding: zeros, at most half the kernel, which count as
    elements unless `count_include_pad` is false; ceil_mode: windows may end beyond the input.
    Returns `(N, C, places)`. Raises RuntimeError for other ranks and windows that do not fit.

    >>> rg.avg_pool1d(rg.tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
    tensor([[2., 3.]])
    """,
    """Means over windows of images `(N, C, H, W)` or `(C, H, W)`.

    `divisor_override` divides each sum instead of the number of elements; RuntimeError if it is 0.
    Everything else is as for `avg_pool1d`.

    >>> avg_pool2d(rg.tensor([[[1.0, 3.0], [2.0, 4.0]]]), 2)
    tensor([[[2.5000]]])
    """,
    """Means over windows of volumes `(N, C, D, H, W)` or `(C, D, H, W)`; see `avg_pool2d`.

    Raises RuntimeError as that does.

    >>> avg_pool3d(rg.ones(1, 1, 2, 2, 2), 2)
    tensor([[[[[1.]]]]])
    """,
)


# -- power means -------------------------------------------------------------------------------


def rooted(mean: Tensor, count: int, norm_type: float | Tensor) -> Tensor:
    """The `norm_type`-th root of a mean of powers, made a sum; its size if negative, with sign."""
    if mean.dtype.is_complex:
        return (mean * count).pow(1.0 / norm_type)
    size = mean.abs().relu()  # relu changes nothing but the derivative at 0, which it makes 0
    return (mean.sign() * size * count).pow(1.0 / norm_type)


def _lp_pool(name: str, dims: int) -> Any:
    average = (avg_pool1d, avg_pool2d, avg_pool3d)[dims - 1]
    maximum = (max_pool1d, max_pool2d, max_pool3d)[dims - 1]

    def pool(
        input: Tensor,
        norm_type: float | Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        ceil_mode: bool = False,
    ) -> Tensor:
        if norm_type in (math.inf, -math.inf):
            sign = math.copysign(1.0, norm_type)
            most: Tensor = maximum(sign * input.abs(), kernel_size, stride, 0, 1, ceil_mode)
            return sign * most
        kernel = per_dim(kernel_size, dims, "kernel_size", name)
        mean = average(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
        return rooted(mean, math.prod(kernel), norm_type)

    return pool


lp_pool1d, lp_pool2d, lp_pool3d = for_dims(
    _lp_pool,
    "lp_pool",
    """Power sums over windows: `(sum of x ** p) ** (1 / p)` for `norm_type` p, on `(N, C, L)`.

    For p = inf the largest modulus, for -inf the smallest. The gradient where a sum is 0 is 0.

    >>> lp_pool1d(rg.tensor([[3.0, 4.0]]), 2.0, 2)
    tensor([[5.]])
    """,
    """Power sums over windows of images `(N, C, H, W)`; see `lp_pool1d`.

    >>> lp_pool2d(rg.tensor([[[3.0, 4.0]]]), 2.0, (1, 2))
    tensor([[[5.]]])
    """,
    """Power sums over windows of volumes `(N, C, D, H, W)`; see `lp_pool1d`.

    >>> lp_pool3d(rg.tensor([[[[3.0, 4.0]]]]), 2.0, (1, 1, 2))
    tensor([[[[5.]]]])
    """,
)


# -- unpooling ---------------------------------------------------------------------------------


def _max_unpool(name: str, dims: int) -> Any:
    record = of_dims(pool_put, "MaxUnpool{}DBackward0", dims)

    def unpool(
        input: Tensor,
        indices: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        output_size: Sequence[int] | None = None,
    ) -> Tensor:
        check_input(name, dims, input)
        if indices._array.dtype.kind not in "iu":
            raise RuntimeError(
                "elements in indices should be type int64 but got: "
                f"{dtypes.legacy_name(indices.dtype)}. Take those that max_pool gave"
            )
        check_together(input._array, indices._array)
        kernel = per_dim(kernel_size, dims, "kernel_size", name)
        steps = kernel if stride is None else per_dim(stride, dims, "stride", name)
        pads = per_dim(padding, dims, "padding", name)
        if tuple(input.shape) != tuple(indices.shape):
            raise RuntimeError(
                f"Expected shape of indices to be same as that of the input tensor ("
                f"{list(input.shape)}) but got indices tensor with shape: {list(indices.shape)}"
            )
        default = tuple(
            [
                (n - 1) * s - 2 * p + k
                for n, s, p, k in zip(input.shape[-dims:], steps, pads, kernel, strict=True)
            ]
        )
        size = default if output_size is None else tuple(output_size)[-dims:]
        for dim, (n, m, s) in enumerate(zip(size, default, steps, strict=True)):
            if not m - s < n < m + s:
                raise ValueError(
                    f'invalid output_size "{size}" (dim {dim} must be between {m - s} and {m + s})'
                )
        index = indices._array
        bad = index[(index < 0) | (index >= math.prod(size))]
        if bad.size:
            volume = "x".join(str(n) for n in size)
            raise RuntimeError(
                f"Found an invalid max index: {bad[0]} (output volumes are of size {volume})"
            )
        return record(input, indices, size=size)  # type: ignore[no-any-return]

    return unpool


max_unpool1d, max_unpool2d, max_unpool3d = for_dims(
    _max_unpool,
    "max_unpool",
    """Partial inverse of `max_pool1d`: zeros with each maximum back at its index.

    `input` and `indices` are what `max_pool1d(..., return_indices=True)` gives for the same kernel,
    stride and padding; `output_size` decides between the input sizes that fit. Of values with the
    same index, which overlapping windows give, one is put there. Raises RuntimeError for an index
    out of range, ValueError for an output size that does not fit.

    >>> values, indices = rg.max_pool1d(rg.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
    >>> max_unpool1d(values, indices, 2)
    tensor([[0., 3., 2., 0.]])
    """,
    """Partial inverse of `max_pool2d`; see `max_unpool1d`.

    >>> values, indices = rg.max_pool2d(rg.ones(1, 2, 4), 2, return_indices=True)
    >>> max_unpool2d(values, indices, 2)
    tensor([[[1., 0., 1., 0.],
             [0., 0., 0., 0.]]])
    """,
    """Partial inverse of `max_pool3d`; see `max_unpool1d`.

    >>> values, indices = rg.max_pool3d(rg.ones(1, 2, 2, 2), 2, return_indices=True)
    >>> max_unpool3d(values, indices, 2).shape
    retrograd.Size([1, 2, 2, 2])
    """,
)
