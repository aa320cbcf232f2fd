"""`torch._vmap_internals`, the older name of `torch._functorch.vmap`."""

from ._functorch.vmap import _vmap, vmap

__all__ = ["_vmap", "vmap"]
