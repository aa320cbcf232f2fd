"""`torch.onnx.operators`: shapes as tensors."""

from __future__ import annotations

from ...engine.tensor import Tensor
from ...ops.creation.from_data import tensor

__all__ = ["reshape_from_tensor_shape", "shape_as_tensor"]


def shape_as_tensor(x: Tensor) -> Tensor:
    """The shape of a tensor, a tensor (dimensions,), int64.

    >>> from retrograd.onnx.operators import shape_as_tensor
    >>> shape_as_tensor(rg.ones(2, 3))
    tensor([2, 3])
    """
    return tensor(list(x.shape))


def reshape_from_tensor_shape(x: Tensor, shape: Tensor) -> Tensor:
    """A tensor in the shape that another one, (dimensions,), holds.

    >>> from retrograd.onnx.operators import reshape_from_tensor_shape
    >>> reshape_from_tensor_shape(rg.ones(2, 3), rg.tensor([6])).shape
    retrograd.Size([6])
    """
    return x.reshape(shape.tolist())
