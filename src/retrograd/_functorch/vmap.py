"""`torch._functorch.vmap`."""

from ..func import vmap

__all__ = ["vmap"]
