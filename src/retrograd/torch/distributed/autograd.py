"""`torch.distributed.autograd`: backward passes that cross to other processes, not available.

PyTorch's cross where `rpc` called, which is not here; built without it, it has this module, too.
"""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """False: a graph is all in one process; the collectives of `distributed.nn` join graphs.

    >>> from retrograd.distributed import autograd
    >>> autograd.is_available()
    False
    """
    return False
