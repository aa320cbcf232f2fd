"""What makes masked tensors under PyTorch's name of its module."""

from ...layouts.masked.array import as_masked_tensor, masked_tensor

__all__ = ["as_masked_tensor", "masked_tensor"]
