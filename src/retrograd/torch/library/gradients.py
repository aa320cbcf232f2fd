"""Gradients of some of PyTorch's operators as operators: `convolution_backward` and its like.

Each runs its operator on inputs of its own and asks for their gradients, so it is differentiable as
these are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...autograd import enable_grad, grad, is_grad_enabled
from ...nn.functional import interpolate
from ..names.aten_kernels import convolution, grid_sampler

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...engine.tensor import Tensor

__all__ = ["convolution_backward", "grid_sampler_backward", "upsample_backward"]


def gradients(
    function: Callable[..., Tensor], inputs: tuple[Tensor, ...], wanted: Any, grad_output: Tensor
) -> tuple[Tensor | None, ...]:
    """The gradients by the inputs that are wanted, None for the others."""
    own = [x if x.requires_grad else x.detach().requires_grad_() for x in inputs]
    with enable_grad():
        out = function(*own)
    asked = [x for x, want in zip(own, wanted, strict=True) if want]
    given = any(x.requires_grad for x in (*inputs, grad_output))
    recorded = given and is_grad_enabled()
    found = iter(grad(out, asked, grad_output, create_graph=recorded))
    return tuple(next(found) if want else None for want in wanted)


def convolution_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Any,
) -> tuple[Tensor | None, ...]:
    """The gradients of a convolution by input, weight and bias, where `output_mask` is true.

    >>> from retrograd.library import ops
    >>> x, w, g = rg.ones(1, 1, 3), rg.ones(1, 1, 2), rg.tensor([[[1.0, 2.0]]])
    >>> by = ops.aten.convolution_backward(g, x, w, [1], [1], [0], [1], False, [0], 1, (1, 1, 1))
    >>> [each.flatten().tolist() for each in by]
    [[1.0, 3.0, 2.0], [3.0, 3.0], [3.0]]
    """
    settings = stride, padding, dilation, transposed, output_padding, groups
    bias = weight.new_zeros(weight.shape[1] * groups if transposed else weight.shape[0])
    return gradients(
        lambda x, w, b: convolution(x, w, b, *settings),
        (input, weight, bias),
        output_mask,
        grad_output,
    )


def grid_sampler_backward(
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Any,
) -> tuple[Tensor | None, ...]:
    """The gradients of sampling at a grid by the input and the grid, where `output_mask` is true.

    >>> from retrograd.library import ops
    >>> x, at, g = rg.ones(1, 1, 2, 2), rg.zeros(1, 1, 1, 2), rg.ones(1, 1, 1, 1)
    >>> ops.aten.grid_sampler_2d_backward(g, x, at, 0, 0, True, (True, False))[0].tolist()
    [[[[0.25, 0.25], [0.25, 0.25]]]]
    """
    modes = interpolation_mode, padding_mode, align_corners
    return gradients(
        lambda x, at: grid_sampler(x, at, *modes),
        (input, grid),
        output_mask,
        grad_output,
    )


def upsample_backward(mode: str) -> Callable[..., Tensor]:
    """The gradient of another resolution in one mode by the input, of shape `input_size`.

    >>> from retrograd.library import ops
    >>> ops.aten.upsample_nearest1d_backward(rg.ones(1, 1, 4), [4], [1, 1, 2])
    tensor([[[2., 2.]]])
    """
    cornered = "nearest" not in mode

    def compute(grad_output: Tensor, output_size: Any, input_size: Any, *given: Any) -> Tensor:
        named = {"align_corners": given[0]} if cornered else {}
        scales = [each for each in given[cornered:] if each is not None]
        size, scale = (None, tuple(scales)) if scales else (tuple(output_size), None)
        (found,) = gradients(
            lambda x: interpolate(x, size, scale, mode, **named),
            (grad_output.new_zeros(input_size),),
            (True,),
            grad_output,
        )
        return found  # type: ignore[return-value]

    return compute
