"""Function transforms, with torch.func's names: derivatives and batches of whole functions.

They nest to any depth. What they stand on is in `transforms.forward` (levels of dual numbers),
`transforms.batch` (batches) and, for reverse mode, in the engine's ordinary graph.
"""

from typing import Any

from .. import providers as _providers
from .batch_norm import replace_all_batch_norm_modules_
from .batching import debug_unwrap, vmap
from .calls import functional_call, functionalize, stack_module_state
from .forward import jvp, linearize
from .jacobian import hessian, jacfwd, jacrev
from .reverse import grad, grad_and_value, vjp

__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian",
    "jacfwd", "jacrev", "jvp", "linearize", "replace_all_batch_norm_modules_", "stack_module_state",
    "vjp", "vmap",
]  # fmt: skip
__all__ += [*_providers.names(__name__)]


def __getattr__(name: str) -> Any:
    """A name of PyTorch's world, when it is first asked for."""
    return _providers.attribute(__name__, name)
