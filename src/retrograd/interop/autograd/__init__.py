"""HIPS autograd's interface: programs written for it run with these imports in place of its own.

    import retrograd.interop.autograd.numpy as np      # import autograd.numpy as np
    from retrograd.interop.autograd import grad        # from autograd import grad

Arrays go in and arrays come out; NOTE [HIPS's conventions] in `tracing` says the rest.
"""

from .builtins import dict, isinstance, list, tuple, type
from .extend import defjvp, defvjp, primitive
from .operators import *
from .operators import __all__ as _operators

__all__ = [
    *_operators, *("defjvp", "defvjp", "dict", "isinstance", "list", "primitive", "tuple", "type"),
]  # fmt: skip
