"""Transposed convolutions: the adjoints of those in `conv`, with sizes of their own."""

from __future__ import annotations

from typing import Any

from ...engine.dispatch import own
from ...engine.registry import name_node
from ...engine.tensor import Tensor
from .conv import (
    as_text,
    channels_last,
    check_arguments,
    check_bias,
    check_channels,
    conv_input,
)
from .sizes import for_dims, per_dim

__all__ = ["conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]


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
        return out if batched else own(out.squeeze(0))

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
