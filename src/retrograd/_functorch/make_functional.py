"""`torch._functorch.make_functional`."""

from ..func import combine_state_for_ensemble, make_functional, make_functional_with_buffers

__all__ = ["combine_state_for_ensemble", "make_functional", "make_functional_with_buffers"]
