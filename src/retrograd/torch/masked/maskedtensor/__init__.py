"""Masked tensors under PyTorch's older names (names only; see `layouts.masked`)."""

from . import core, creation
from .core import MaskedTensor, is_masked_tensor
