"""Functions that make masked tensors, under PyTorch's name of their module."""

from ...layouts.masked.array import as_masked_tensor, masked_tensor

__all__ = ["as_masked_tensor", "masked_tensor"]
