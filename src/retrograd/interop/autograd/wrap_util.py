"""HIPS autograd's name for what makes operators take `argnum`."""

from .operators import unary_to_nary

__all__ = ["unary_to_nary"]
