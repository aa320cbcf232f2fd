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


IN_INPUT = """The gradient of `conv{n}d` in its input.

    input_size: the shape `(N, C, {sizes})`; weight: `(O, C / groups, {kernel})`; grad_output: the
    cotangent of the output. Raises ValueError for another number of sizes. Source: PyTorch's
    `nn.grad.conv{n}d_input`.

    >>> w, g = rg.full((1, 1{twos}), 3.0), rg.ones(1, 1{twos})
    >>> rg.nn.grad.conv{n}d_input((1, 1{threes}), w, g).flatten()[:3]
    tensor([3., 6., 3.])
    """

IN_WEIGHT = """The gradient of `conv{n}d` in its weight.

    input: `(N, C, {sizes})`; weight_size: the shape `(O, C / groups, {kernel})`; grad_output: the
    cotangent of the output. Raises ValueError for another number of sizes. Source: PyTorch's
    `nn.grad.conv{n}d_weight`.

    >>> x, g = rg.ones(1, 1{threes}), rg.ones(1, 1{twos})
    >>> rg.nn.grad.conv{n}d_weight(x, (1, 1{twos}), g).flatten()[:2]
    tensor([{both}])
    """


def _docs(template: str) -> list[str]:
    """The docstring for each number of dimensions."""
    letters = ("L", "H, W", "D, H, W"), ("K", "K, L", "K, L, M"), ("2., 2.", "4., 4.", "8., 8.")
    return [
        template.format(
            n=n, sizes=sizes, kernel=kernel, both=both, twos=", 2" * n, threes=", 3" * n
        )
        for n, (sizes, kernel, both) in enumerate(zip(*letters, strict=True), 1)
    ]


conv1d_input, conv2d_input, conv3d_input = for_dims(
    _of_input, "conv", *_docs(IN_INPUT), suffix="_input"
)
conv1d_weight, conv2d_weight, conv3d_weight = for_dims(
    _of_weight, "conv", *_docs(IN_WEIGHT), suffix="_weight"
)
