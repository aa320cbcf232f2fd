"""Tools of HIPS autograd's programs: flat vectors for nested containers, and optimizers."""

from .flatten import flatten, flatten_func

__all__ = ["flatten", "flatten_func"]
