"""Nested tensors: NOTE [Nested tensors] in `array`."""

from . import functions, rules
