"""Masked tensors: NOTE [Masked tensors] in `array`."""

from . import rules
