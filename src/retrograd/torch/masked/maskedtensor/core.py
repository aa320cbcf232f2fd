"""The class of masked tensors under PyTorch's name of its module."""

from ...layouts.masked.array import MaskedTensor, is_masked_tensor

__all__ = ["MaskedTensor", "is_masked_tensor"]
