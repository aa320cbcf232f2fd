"""Calls of functions in other processes are not here: `is_available()` says so.

As in a PyTorch that is built without them, this module has no other name. Objects are sent by
`distributed.send_object_list` and its kin, tensors by `send` and the collectives.
"""

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether functions can be called in other processes: never.

    >>> from retrograd.distributed import rpc
    >>> rpc.is_available()
    False
    """
    return False
