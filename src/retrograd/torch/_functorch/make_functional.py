"""`torch._functorch.make_functional`."""

from ...func import combine_state_for_ensemble, make_functional, make_functional_with_buffers
from ...func.models import FunctionalModule, FunctionalModuleWithBuffers

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "make_functional",
    "make_functional_with_buffers",
]
