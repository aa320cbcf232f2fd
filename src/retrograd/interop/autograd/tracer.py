"""HIPS autograd's names for what is being differentiated."""

from .boxes import getval, isbox
from .extend import Box, notrace_primitive, primitive

__all__ = ["Box", "getval", "isbox", "notrace_primitive", "primitive"]
