"""`torch.autograd._functions`: a Function of old programs."""

from __future__ import annotations

from typing import Any

from ...autograd.function import Function

__all__ = ["Resize"]


class Resize(Function):
    """A tensor in another shape of as many elements; new programs write `x.reshape(shape)`.

    Raises RuntimeError for another number of elements.

    >>> from retrograd.autograd._functions import Resize
    >>> Resize.apply(rg.arange(4.0), (2, 2))
    tensor([[0., 1.],
            [2., 3.]])
    """

    @staticmethod
    def forward(ctx: Any, tensor: Any, sizes: tuple[int, ...]) -> Any:
        """The tensor, reshaped."""
        ctx.shape = tensor.shape
        return tensor.reshape(sizes)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The cotangent in the first shape."""
        return grad_outputs[0].reshape(ctx.shape), None
