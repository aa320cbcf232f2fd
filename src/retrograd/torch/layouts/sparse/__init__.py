"""Sparse tensors: NOTE [Sparse tensors] in `array`."""

from . import rules
