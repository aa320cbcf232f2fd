"""Sliding windows of images as columns, and back: unfold and fold.

`im2col` and `col2im` are each other's adjoint, so each is the other's derivative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...engine.dispatch import as_non_view
from ...engine.registry import declare, example
from ...engine.tensor import Tensor
from ...kernels import convolution
from ..core import batching
from .conv import Pairs, geometry
from .sizes import Sizes, per_dim

im2col = declare(
    "im2col(input, *, kernel, stride, padding, dilation)",
    lambda x, *, kernel, stride, padding, dilation: convolution.im2col(
        x, kernel, stride, padding, dilation
    ),
    input=lambda xp, g, input_shape, kernel, stride, padding, dilation: xp.col2im(
        g, size=input_shape[2:], kernel=kernel, stride=stride, padding=padding, dilation=dilation
    ),
    linear="input",
    batch=batching.folded("im2col"),
    examples=[
        example("1x2x3x4", **geometry(2, kernel=(2, 2))),
        example("1x1x3x3", **geometry(2, kernel=(3, 2), stride=2, padding=1)),
    ],
    node_name="Im2ColBackward0",
    saved={"kernel_size": "kernel"},
    doc="""The windows of `(N, C, *spatial)` as columns `(N, C * taps, places)`.""",
)

col2im = declare(
    "col2im(input, *, size, kernel, stride, padding, dilation)",
    lambda x, *, size, kernel, stride, padding, dilation: convolution.col2im(
        x, size, kernel, stride, padding, dilation
    ),
    input=lambda xp, g, kernel, stride, padding, dilation: xp.im2col(
        g, kernel=kernel, stride=stride, padding=padding, dilation=dilation
    ),
    linear="input",
    batch=batching.folded("col2im"),
    examples=[
        example("1x4x4", **geometry(2, size=(3, 3), kernel=(2, 2))),
        example("1x2x6", **geometry(2, size=(3, 3), kernel=(2, 1), stride=2, padding=1)),
    ],
    node_name="Col2ImBackward0",
    saved={"kernel_size": "kernel"},
    doc="""The adjoint of `im2col`, whose input has spatial sizes `size`.""",
)


def window_sizes(
    kernel_size: Any, stride: Any, padding: Any, dilation: Any
) -> tuple[Sizes, Sizes, Pairs, Sizes]:
    """The arguments of `unfold` and `fold`, checked, one number or pair per dimension."""
    kernel, stride = per_dim(kernel_size, 2, "kernel_size"), per_dim(stride, 2, "stride")
    padding, dilation = per_dim(padding, 2, "padding"), per_dim(dilation, 2, "dilation")
    for name, sizes in (("kernel size", kernel), ("stride", stride), ("dilation", dilation)):
        if min(sizes) <= 0:
            raise RuntimeError(f"{name} should be greater than zero, but got {sizes}")
    if min(padding) < 0:
        raise RuntimeError(f"padding should be non-negative, but got {padding}")
    return kernel, stride, tuple([(p, p) for p in padding]), dilation


def window_counts(
    size: Sizes, kernel: Sizes, stride: Sizes, pairs: Pairs, dilation: Sizes
) -> Sizes:
    """How many windows there are along each dimension; RuntimeError if there is none."""
    counts = convolution.out_size(size, kernel, stride, pairs, dilation)
    if min(counts) < 1:
        raise RuntimeError(
            f"Given input with spatial size {size}, kernel_size={kernel}, dilation={dilation}, "
            f"padding={tuple(p for p, _ in pairs)}, calculated shape of the array of sliding "
            f"blocks as {counts}, but its components must be at least one."
        )
    return counts


def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """The windows of images as columns: `(N, C, H, W)` to `(N, C * KH * KW, places)`.

    Also `(C, H, W)`, without a batch. Raises RuntimeError where no window fits. Source: PyTorch's
    `unfold` in `nn.functional`.

    >>> unfold(rg.ones(1, 3, 4, 4), 2).shape
    retrograd.Size([1, 12, 9])
    """
    if input.ndim not in (3, 4):
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(input.shape)}"
        )
    kernel, stride, pairs, dilation = window_sizes(kernel_size, stride, padding, dilation)
    window_counts(tuple(input.shape[-2:]), kernel, stride, pairs, dilation)
    batch = input if input.ndim == 4 else input.unsqueeze(0)
    out = im2col(batch, kernel=kernel, stride=stride, padding=pairs, dilation=dilation)
    return out if input.ndim == 4 else as_non_view(out.squeeze(0))


def fold(
    input: Tensor,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Columns added up at the places of their windows: the adjoint of `unfold`.

    `(N, C * KH * KW, places)` to `(N, C, *output_size)`, also without a batch. Raises RuntimeError
    where sizes do not fit.

    >>> fold(rg.ones(1, 4, 2), (2, 3), 2)
    tensor([[[[1., 2., 1.],
              [1., 2., 1.]]]])
    """
    if input.ndim not in (2, 3):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(input.shape)}"
        )
    size = per_dim(output_size, 2, "output_size")
    kernel, stride, pairs, dilation = window_sizes(kernel_size, stride, padding, dilation)
    counts = window_counts(size, kernel, stride, pairs, dilation)
    rows, places = input.shape[-2:]
    if rows % math.prod(kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={rows} and kernel_size={kernel}."
        )
    if places != math.prod(counts):
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, "
            f"padding={tuple(p for p, _ in pairs)}, stride={stride}, expected size of input's "
            f"dimension 2 to match the calculated number of sliding blocks "
            f"{' * '.join(str(n) for n in counts)} = {math.prod(counts)}, but got "
            f"input.size(2)={places}."
        )
    batch = input if input.ndim == 3 else input.unsqueeze(0)
    out = col2im(batch, size=size, kernel=kernel, stride=stride, padding=pairs, dilation=dilation)
    return out if input.ndim == 3 else as_non_view(out.squeeze(0))
