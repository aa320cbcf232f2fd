"""Gradients of convolutions by themselves, for one who has the cotangent of the output.

Each is one of the three sides of a convolution, as `autograd.grad` would run it, and can be
differentiated again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ops.nn.conv import channels_last, conv_input, conv_weight
from ...ops.nn.sizes import for_dims, per_dim

if TYPE_CHECKING:
    from ...engine.tensor import Tensor

__all__ = [
    "conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input",
    "conv3d_weight",
]  # fmt: skip


def _geometry(dims: int, stride: Any, padding: Any, dilation: Any, groups: int) -> dict[str, Any]:
    """The parameters of the records, from a number for all dimensions or one for each."""
    return {
        "stride": per_dim(stride, dims, "stride"),
        "padding": tuple([(p, p) for p in per_dim(padding, dims, "padding")]),
        "dilation": per_dim(dilation, dims, "dilation"),
        "groups": groups,
    }


def _spatial(sizes: Any, dims: int, name: str) -> tuple[int, ...]:
    """The last `dims` sizes of a whole shape."""
    if len(sizes) != dims + 2:
        raise ValueError(
            f"{name} must have {dims + 2} elements, the whole shape, but got {tuple(sizes)}"
        )
    return tuple(sizes)[2:]


def _of_input(name: str, dims: int) -> Any:
    def of_input(
        input_size: Any,
        weight: Tensor,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        size = _spatial(input_size, dims, "input_size")
        settings = _geometry(dims, stride, padding, dilation, groups)
        inside = channels_last(dims, None, weight._array)
        return conv_input(grad_output, weight.conj(), size=size, channels_last=inside, **settings)

    return of_input


def _of_weight(name: str, dims: int) -> Any:
    def of_weight(
        input: Tensor,
        weight_size: Any,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        kernel = _spatial(weight_size, dims, "weight_size")
        settings = _geometry(dims, stride, padding, dilation, groups)
        inside = channels_last(dims, input._array, None)
        return conv_weight(
            grad_output, input.conj(), kernel=kernel, channels_last=inside, **settings
        )

    return of_weight


conv1d_input, conv2d_input, conv3d_input = for_dims(
    _of_input,
    "conv",
    """The gradient of `conv1d` in its input.

    input_size: the shape `(N, C, L)`; weight: `(O, C / groups, K)`;
    grad_output: the cotangent of the output. Raises ValueError for another number of sizes. Source:
    PyTorch's `nn.grad.conv1d_input`.

    >>> w = rg.full((1, 1, 2), 3.0)
    >>> g = rg.ones(1, 1, 2)
    >>> rg.nn.grad.conv1d_input((1, 1, 3), w, g).flatten()[:3]
    tensor([3., 6., 3.])
    """,
    """The gradient of `conv2d` in its input.

    input_size: the shape `(N, C, H, W)`; weight: `(O, C / groups, K, L)`;
    grad_output: the cotangent of the output. Raises ValueError for another number of sizes. Source:
    PyTorch's `nn.grad.conv2d_input`.

    >>> w = rg.full((1, 1, 2, 2), 3.0)
    >>> g = rg.ones(1, 1, 2, 2)
    >>> rg.nn.grad.conv2d_input((1, 1, 3, 3), w, g).flatten()[:3]
    tensor([3., 6., 3.])
    """,
    """The gradient of `conv3d` in its input.

    input_size: the shape `(N, C, D, H, W)`; weight: `(O, C / groups, K, L, M)`;
    grad_output: the cotangent of the output. Raises ValueError for another number of sizes. Source:
    PyTorch's `nn.grad.conv3d_input`.

    >>> w = rg.full((1, 1, 2, 2, 2), 3.0)
    >>> g = rg.ones(1, 1, 2, 2, 2)
    >>> rg.nn.grad.conv3d_input((1, 1, 3, 3, 3), w, g).flatten()[:3]
    tensor([3., 6., 3.])
    """,
    suffix="_input",
)

conv1d_weight, conv2d_weight, conv3d_weight = for_dims(
    _of_weight,
    "conv",
    """The gradient of `conv1d` in its weight.

    input: `(N, C, L)`; weight_size: the shape `(O, C / groups, K)`;
    grad_output: the cotangent of the output. Raises ValueError for another number of sizes. Source:
    PyTorch's `nn.grad.conv1d_weight`.

    >>> x, g = rg.ones(1, 1, 3), rg.ones(1, 1, 2)
    >>> rg.nn.grad.conv1d_weight(x, (1, 1, 2), g).flatten()[:2]
    tensor([2., 2.])
    """,
    """The gradient of `conv2d` in its weight.

    input: `(N, C, H, W)`; weight_size: the shape `(O, C / groups, K, L)`;
    grad_output: the cotangent of the output. Raises ValueError for another number of sizes. Source:
    PyTorch's `nn.grad.conv2d_weight`.

    >>> x, g = rg.ones(1, 1, 3, 3), rg.ones(1, 1, 2, 2)
    >>> rg.nn.grad.conv2d_weight(x, (1, 1, 2, 2), g).flatten()[:2]
    tensor([4., 4.])
    """,
    """The gradient of `conv3d` in its weight.

    input: `(N, C, D, H, W)`; weight_size: the shape `(O, C / groups, K, L, M)`;
    grad_output: the cotangent of the output. Raises ValueError for another number of sizes. Source:
    PyTorch's `nn.grad.conv3d_weight`.

    >>> x, g = rg.ones(1, 1, 3, 3, 3), rg.ones(1, 1, 2, 2, 2)
    >>> rg.nn.grad.conv3d_weight(x, (1, 1, 2, 2, 2), g).flatten()[:2]
    tensor([8., 8.])
    """,
    suffix="_weight",
)
