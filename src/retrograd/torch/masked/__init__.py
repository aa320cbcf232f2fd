"""Masked tensors, and functions of a tensor and a mask: torch.masked (names only; see `ops`)."""

from ..layouts.masked.array import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor
from . import _ops, maskedtensor
from ._ops import *

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]
__all__ += _ops.__all__
