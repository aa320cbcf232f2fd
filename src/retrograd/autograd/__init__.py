"""`torch.autograd`'s shape over the engine."""

from .grad import backward, grad

__all__ = ["backward", "grad"]
