"""`torch._functorch.autograd_function`: what stands around a custom Function on batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...autograd.transformed import VmapInfo
from ...func import vmap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...engine.tensor import Tensor

__all__ = ["CtxWithSavedTensors", "VmapInfo", "reductify_leaf"]


class CtxWithSavedTensors:
    """A Function's context with other `saved_tensors`; all else that is read or set is its own."""

    __slots__ = ("_context", "saved_tensors")

    def __init__(self, ctx: Any, new_saved_tensors: Any) -> None:
        object.__setattr__(self, "_context", ctx)
        object.__setattr__(self, "saved_tensors", new_saved_tensors)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._context, name, value)


def reductify_leaf(
    grad_input: Tensor | None,
    grad_input_bdim: int | None,
    input_bdim: int | None,
    batch_size: int,
    target_shape_without_bdim_to_reduce_to: Sequence[int] | None = None,
) -> Tensor | None:
    """The gradients of all examples, with the batch axis where their input has it.

    For an input that has none, which all examples share, that is their sum. A gradient that has
    none counts for each example. With a target shape, each example's is summed to that.

    >>> from retrograd._functorch.autograd_function import reductify_leaf
    >>> reductify_leaf(rg.ones(2, 3), 0, None, 2)
    tensor([2., 2., 2.])
    """
    if grad_input is None:
        return None
    if input_bdim is None:
        return grad_input if grad_input_bdim is None else grad_input.sum(grad_input_bdim)
    if grad_input_bdim is None:
        grad_input_bdim, grad_input = 0, grad_input.expand(batch_size, *grad_input.shape)
    shape = target_shape_without_bdim_to_reduce_to
    if shape is None:
        return grad_input.movedim(grad_input_bdim, input_bdim)
    fitted: Tensor = vmap(lambda g: g.sum_to_size(shape), grad_input_bdim, input_bdim)(grad_input)
    return fitted
