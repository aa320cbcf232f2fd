"""`torch.distributed.rpc`: calls of functions in other processes, which are not available.

Their arguments would be pickled, and who unpickles runs the sender's code. PyTorch built without
them has this module, too, and programs ask it.
"""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """False: functions are not called in other processes; tensors are sent to them.

    >>> import retrograd.distributed.rpc
    >>> rg.distributed.rpc.is_available()
    False
    """
    return False
