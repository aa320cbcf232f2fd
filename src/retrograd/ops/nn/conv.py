"""Convolutions of one to three spatial dimensions, their transposes, unfold and fold.

`conv`, `conv_input` and `conv_weight` are one trilinear form seen from its three sides: the two
formulas of each are the other two, conjugated. So they cover every order, and a transposed
convolution is `conv_input`. The same holds for the pair `im2col` and `col2im`. The arithmetic is in
`kernels.convolution`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ... import dtypes
from ...engine.dispatch import as_non_view
from ...engine.registry import declare, example, name_node
from ...engine.tensor import Tensor
from ...errors import conversion, wrong_type
from ...kernels import convolution
from ...kernels.layout import channels_inside, with_channels_inside
from ..core import batching
from .sizes import Sizes, for_dims, per_dim

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d",
]  # fmt: skip

Pairs = tuple[tuple[int, int], ...]

NO_PADDING: list[Pairs] = [((0, 0),) * dims for dims in range(4)]


def geometry(
    dims: int = 1, stride: int = 1, padding: int = 0, dilation: int = 1, **more: Any
) -> dict[str, Any]:
    """The parameters of an example of a convolution, the same number for every dimension."""
    return {
        "stride": (stride,) * dims,
        "padding": ((padding, padding),) * dims,
        "dilation": (dilation,) * dims,
        **more,
    }


def grouped(dims: int = 1, groups: int = 1, **more: Any) -> dict[str, Any]:
    """The parameters of an example of a convolution with groups of channels."""
    return geometry(dims, groups=groups, channels_last=False, **more)


# -- records -----------------------------------------------------------------------------------


def channels_last(dims: int, input: Any, weight: Any) -> bool:
    """Whether a convolution of these arrays, and its derivatives, have their channels innermost.

    The weight decides, and an input of images or volumes: sequences that were turned lie so by
    chance. Either may be None.
    """
    return channels_inside(weight, least=3) or (dims > 1 and channels_inside(input))


def with_layout(kernel: Any) -> Any:
    """`kernel(x, y, ...)` as a forward, whose result lies as `channels_last` says."""

    def forward(*inputs: Any, channels_last: bool, **geometry: Any) -> Any:
        out = kernel(*inputs, **geometry)
        return with_channels_inside(out) if channels_last else out

    return forward


def _flops(side: Any, weight: Any) -> int:
    """The operations of a convolution, of which one side has `weight`'s first dimension."""
    return int(2 * side.shape[0] * math.prod(side.shape[2:]) * weight.size)


_conv = declare(
    "conv(input, weight, bias, *, stride, padding, dilation, groups, channels_last)",
    with_layout(convolution.conv),
    input=lambda xp, g, weight, input_shape, stride, padding, dilation, groups, channels_last: (
        xp.conv_input(
            g, xp.conj(weight), size=input_shape[2:], stride=stride, padding=padding,
            dilation=dilation, groups=groups, channels_last=channels_last,
        )
    ),
    weight=lambda xp, g, input, weight_shape, stride, padding, dilation, groups, channels_last: (
        xp.conv_weight(
            g, xp.conj(input), kernel=weight_shape[2:], stride=stride, padding=padding,
            dilation=dilation, groups=groups, channels_last=channels_last,
        )
    ),
    bias=lambda xp, g: xp.sum_dim(g, dim=(0, *range(2, g.ndim)), keepdim=False),
    linear="input, bias",
    batch=batching.conv("conv", "data", "kernel"),
    examples=[
        example("2x2x5, 2x2x3, 2", **grouped(padding=1)),
        example("1x2x7, 2x1x3, none", **grouped(stride=2, dilation=2, padding=2, groups=2)),
        example("2x2x2x2, 3x2x1x1, 3", **grouped(2)),
        example("1x1x4x4, 1x1x2x2, none", **grouped(2, stride=2, padding=1)),
        example("1x1x2x2x3, 1x1x1x2x2, 1", **grouped(3)),
        example("0x2x4, 2x2x2, 2", **grouped()),
    ],
    node_name="ConvolutionBackward0",
    saved={
        "input": "input",
        "padding": lambda padding: tuple([before for before, _ in padding]),
        "output_padding": lambda stride: (0,) * len(stride),
        "transposed": lambda: False,
    },
    flops=lambda out, x, weight, bias, **how: _flops(out, weight),
)  # fmt: skip

conv_input = declare(
    "conv_input(input, weight, *, size, stride, padding, dilation, groups, channels_last)",
    with_layout(convolution.conv_input),
    input=lambda xp, g, weight, stride, padding, dilation, groups, channels_last: (
        xp.conv(
            g, xp.conj(weight), None, stride=stride, padding=padding, dilation=dilation,
            groups=groups, channels_last=channels_last,
        )
    ),
    weight=lambda xp, g, input, weight_shape, stride, padding, dilation, groups, channels_last: (
        xp.conv_weight(
            xp.conj(input), g, kernel=weight_shape[2:], stride=stride, padding=padding,
            dilation=dilation, groups=groups, channels_last=channels_last,
        )
    ),
    linear="input | weight",
    batch=batching.conv("conv_input", "data", "kernel"),
    flops=lambda out, x, weight, **how: _flops(x, weight),
    examples=[
        example("2x2x3, 2x2x3", **grouped(size=(5,))),
        example("1x2x3, 2x1x3", **grouped(size=(6,), stride=2, padding=1, groups=2)),
        example("1x2x2x2, 2x2x1x1", **grouped(2, size=(2, 2))),
        example("1x1x3, 1x2x2", **{**grouped(size=(5,)), "padding": ((0, -1),)}),
    ],
    node_name="ConvolutionBackward0",
    doc="""The adjoint of `conv` in its input, which has spatial sizes `size`.""",
)  # fmt: skip

conv_weight = declare(
    "conv_weight(input, other, *, kernel, stride, padding, dilation, groups, channels_last)",
    with_layout(convolution.conv_weight),
    input=lambda xp, g, other, stride, padding, dilation, groups, channels_last: (
        xp.conv(
            xp.conj(other), g, None, stride=stride, padding=padding, dilation=dilation,
            groups=groups, channels_last=channels_last,
        )
    ),
    other=lambda xp, g, input, other_shape, stride, padding, dilation, groups, channels_last: (
        xp.conv_input(
            xp.conj(input), g, size=other_shape[2:], stride=stride, padding=padding,
            dilation=dilation, groups=groups, channels_last=channels_last,
        )
    ),
    linear="input | other",
    batch=batching.conv("conv_weight", "data", "data"),
    examples=[
        example("2x2x3, 2x2x5", **grouped(kernel=(3,))),
        example("1x2x3, 1x2x6", **grouped(kernel=(3,), stride=2, padding=1, groups=2)),
        example("1x2x2x2, 1x2x2x2", **grouped(2, kernel=(1, 1))),
    ],
    node_name="ConvolutionBackward0",
    doc="""The adjoint of `conv` in its weight: `input` is a cotangent of its result.""",
)  # fmt: skip


# -- checks ------------------------------------------------------------------------------------


def check_arguments(
    name: str,
    dims: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes,
    dilation: Sizes,
    groups: int,
) -> None:
    """Raise what does not depend on the direction of the convolution."""
    for argument, t in (("input", input), ("weight", weight)):
        if not isinstance(t, Tensor):
            raise wrong_type(name, argument, "Tensor", t)
    if input._array.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got "
            f"input of size: {list(input.shape)}"
        )
    if weight._array.ndim != dims + 2:
        raise RuntimeError(
            f"{name}(): expected a weight with {dims + 2} dimensions to match the convolution "
            f"dimensions, but got a weight of size {list(weight.shape)}"
        )
    if 0 in weight._array.shape[2:]:
        raise RuntimeError(
            f"kernel size should be greater than zero, but got {as_text(weight._array.shape[2:])} "
            f"for a weight of size {list(weight.shape)}"
        )
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    check_same_dtype(input, weight, bias)


def check_same_dtype(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """Raise unless all have one dtype."""
    x = input._array.dtype
    if weight._array.dtype is x and (bias is None or bias._array.dtype is x):
        return
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t._array.dtype is not x and t._array.dtype != x:
            a, b = (v.dtype for v in (input, t))
            raise RuntimeError(
                f"expected scalar type {dtypes.legacy_name(a)} but found {dtypes.legacy_name(b)}. "
                f"Input type ({dtypes.cpp_name(a)}) and {name} type ({dtypes.cpp_name(b)}) should "
                f"be the same. {conversion(x, t._array.dtype, name)}"
            )


def check_channels(input: Tensor, weight: Tensor, groups: int, transposed: bool) -> None:
    """Raise unless input channels, output channels and groups fit together."""
    shape, channels = weight._array.shape, input._array.shape[1]
    wanted = shape[0] if transposed else shape[1] * groups
    if shape[0] % groups or shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size {list(shape)} instead"
        )
    if channels != wanted:
        given = "transposed=1" if transposed else f"groups={groups}"
        raise RuntimeError(
            f"Given {given}, weight of size {list(shape)}, expected input{list(input.shape)} to "
            f"have {wanted} channels, but got {channels} channels instead. "
            f"{channels_first(input, wanted)}"
        )


def channels_first(input: Tensor, wanted: int) -> str:
    """What to do about an input whose second size is not that of the channels."""
    last = input._array.ndim - 1
    if input._array.shape[last] == wanted:
        order = ", ".join(map(str, (0, last, *range(1, last))))
        return f"Channels come second: input.permute({order})"
    given = input._array.shape[1]
    return f"Channels are the second size of the input: make the layer's in_channels {given}"


def check_bias(weight: Tensor, bias: Tensor | None, size: int, transposed: bool) -> None:
    """Raise unless the bias has one element per output channel."""
    if bias is not None and tuple(bias._array.shape) != (size,):
        given = "Given transposed=1, weight" if transposed else "Given weight"
        raise RuntimeError(
            f"{given} of size {list(weight.shape)}, expected bias to be 1-dimensional with {size} "
            f"elements, but got bias of size {list(bias.shape)} instead"
        )


def padding_pairs(padding: Any, dims: int, kernel: Sizes, stride: Sizes, dilation: Sizes) -> Pairs:
    """`padding` (a number, one per dimension, "valid" or "same") as (before, after) pairs."""
    if isinstance(padding, str):
        if padding == "valid":
            return ((0, 0),) * dims
        if padding != "same":
            raise RuntimeError(f"Invalid padding string: '{padding}'. It must be 'valid' or 'same'")
        if any(s != 1 for s in stride):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        return tuple([(n // 2, n - n // 2) for n in total])
    if padding == 0 and padding.__class__ is int:
        return NO_PADDING[dims]
    sizes = per_dim(padding, dims, "padding")
    if min(sizes) < 0:
        raise RuntimeError("negative padding is not supported")
    return tuple([(p, p) for p in sizes])


@lru_cache(maxsize=256)
def check_extent(size: Sizes, kernel: Sizes, pairs: Pairs, gaps: Sizes) -> None:
    """Raise unless the kernel is no larger than the padded images."""
    padded = [n + p + q for n, (p, q) in zip(size, pairs, strict=True)]
    extent = [d * (k - 1) + 1 for d, k in zip(gaps, kernel, strict=True)]
    if any(n < e for n, e in zip(padded, extent, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({as_text(padded)}). Kernel size: "
            f"({as_text(extent)}). Kernel size can't be greater than actual input size. Take a "
            "smaller kernel, or padding=; layers before it may have shrunk the image"
        )


def as_text(sizes: Sequence[int]) -> str:
    """Sizes as error messages show them."""
    return " x ".join(str(n) for n in sizes)


# -- convolutions ------------------------------------------------------------------------------


def _convolution(name: str, dims: int) -> Any:
    def convolve(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        steps = per_dim(stride, dims, "stride")
        gaps = per_dim(dilation, dims, "dilation")
        check_arguments(name, dims, input, weight, bias, steps, gaps, groups)
        kernel = weight._array.shape[2:]
        pairs = padding_pairs(padding, dims, kernel, steps, gaps)
        batched = input._array.ndim == dims + 2
        if not batched:
            input = input.unsqueeze(0)
        check_channels(input, weight, groups, transposed=False)
        check_bias(weight, bias, weight._array.shape[0], transposed=False)
        check_extent(input._array.shape[2:], kernel, pairs, gaps)
        inside = channels_last(dims, input._array, weight._array)
        out = _conv(
            input, weight, bias,
            stride=steps, padding=pairs, dilation=gaps, groups=groups, channels_last=inside,
        )  # fmt: skip
        return out if batched else as_non_view(out.squeeze(0))

    return convolve


conv1d, conv2d, conv3d = for_dims(
    _convolution,
    "conv",
    """Correlation of signals with kernels.

    input: `(N, C, L)` or `(C, L)`; weight: `(O, C / groups, K)`; bias: `(O)`; all of one dtype,
    complex ones included (nothing is conjugated). padding: zeros at both ends, "valid" (none) or
    "same" (the size stays, stride 1 only). Returns `(N, O, places)`, with places =
    `(L + 2 padding - dilation (K - 1) - 1) // stride + 1`. Raises RuntimeError where sizes, dtypes
    or groups do not fit.

    >>> x = rg.tensor([[[1.0, 2.0, 4.0, 7.0]]])
    >>> rg.conv1d(x, rg.tensor([[[-1.0, 1.0]]]))
    tensor([[[1., 2., 3.]]])
    """,
    """Correlation of images `(N, C, H, W)` with kernels `(O, C / groups, KH, KW)`.

    Everything else is as for `conv1d`; stride, padding and dilation are a number or a pair.

    >>> rg.conv2d(rg.ones(1, 1, 3, 3), rg.ones(1, 1, 3, 3), padding=1)
    tensor([[[[4., 6., 4.],
              [6., 9., 6.],
              [4., 6., 4.]]]])
    """,
    """Correlation of volumes `(N, C, D, H, W)` with kernels `(O, C / groups, KD, KH, KW)`.

    Everything else is as for `conv1d`; stride, padding and dilation are a number or a triple.

    >>> rg.conv3d(rg.ones(1, 1, 2, 2, 2), rg.ones(1, 1, 2, 2, 2))
    tensor([[[[[8.]]]]])
    """,
)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """`conv1d` of sequences (time, batch, channels), weight (kernel, in channels, out channels).

    Raises RuntimeError for input or weight that is not 3-D.

    >>> rg.conv_tbc(rg.ones(3, 1, 2), rg.ones(2, 2, 4), rg.zeros(4)).shape
    retrograd.Size([2, 1, 4])
    """
    for name, t in (("Input", input), ("Weight", weight)):
        if t._array.ndim != 3:
            raise RuntimeError(
                f"{name} must have 3 dims: time, batch, in_channel; it has {t._array.ndim}"
            )
    made: Tensor = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return name_node(made.permute(2, 0, 1).contiguous(), "ConvTbcBackward0")


# -- transposes ---------------------------------------------------------------------------------


def _transposed(name: str, dims: int) -> Any:
    """What they have in common: `conv_input`, then the bias."""

    def convolve(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Tensor:
        stride = per_dim(stride, dims, "stride")
        dilation = per_dim(dilation, dims, "dilation")
        padding = per_dim(padding, dims, "padding")
        extra = per_dim(output_padding, dims, "output_padding")
        check_arguments(name, dims, input, weight, bias, stride, dilation, groups)
        if min(padding) < 0 or min(extra) < 0:
            raise RuntimeError("negative padding is not supported")
        if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, but got "
                f"output_padding: {extra} stride: {stride} dilation: {dilation}"
            )
        batched = input.ndim == dims + 2
        if not batched:
            input = input.unsqueeze(0)
        check_channels(input, weight, groups, transposed=True)
        check_bias(weight, bias, weight._array.shape[1] * groups, transposed=True)
        kernel = weight._array.shape[2:]
        size = tuple(
            [
                (n - 1) * s - 2 * p + d * (k - 1) + e + 1
                for n, s, p, d, k, e in zip(
                    input._array.shape[2:], stride, padding, dilation, kernel, extra, strict=True
                )
            ]
        )
        if min(size) < 1:
            raise RuntimeError(
                f"Given input size per channel: ({as_text(input.shape[2:])}). Calculated output "
                f"size per channel: ({as_text(size)}). Output size is too small"
            )
        pairs = tuple([(p, p - e) for p, e in zip(padding, extra, strict=True)])
        out = conv_input(
            input, weight, size=size, stride=stride, padding=pairs, dilation=dilation,
            groups=groups, channels_last=channels_last(dims, input._array, weight._array),
        )  # fmt: skip
        if bias is not None:
            out = name_node(out + bias.reshape([-1, *[1] * dims]), "ConvolutionBackward0")
        return out if batched else as_non_view(out.squeeze(0))

    return convolve


conv_transpose1d, conv_transpose2d, conv_transpose3d = for_dims(
    _transposed,
    "conv_transpose",
    """Transposed convolution of signals: the derivative of `conv1d` in its input, as a function.

    input: `(N, C, L)` or `(C, L)`; weight: `(C, O / groups, K)`; bias: `(O)`. Returns `(N, O,
    (L - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1)`; nothing is conjugated.
    Raises RuntimeError where sizes, dtypes or groups do not fit, and for an output_padding that is
    not below stride or dilation.

    >>> rg.conv_transpose1d(rg.tensor([[[1.0, 2.0]]]), rg.tensor([[[1.0, 10.0]]]), stride=2)
    tensor([[[ 1., 10.,  2., 20.]]])
    """,
    """Transposed convolution of images `(N, C, H, W)` with kernels `(C, O / groups, KH, KW)`.

    Everything else is as for `conv_transpose1d`.

    >>> rg.conv_transpose2d(rg.ones(1, 1, 1, 1), rg.ones(1, 1, 2, 2)).shape
    retrograd.Size([1, 1, 2, 2])
    """,
    """Transposed convolution of volumes `(N, C, D, H, W)` with `(C, O / groups, KD, KH, KW)`.

    Everything else is as for `conv_transpose1d`.

    >>> rg.conv_transpose3d(rg.ones(1, 1, 1, 1, 1), rg.ones(1, 1, 2, 2, 2)).shape
    retrograd.Size([1, 1, 2, 2, 2])
    """,
)
