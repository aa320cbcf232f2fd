"""`torch.distributed.autograd`: backward passes that cross to other processes, not available.

PyTorch's cross where `rpc` called, which is not here; built without it, it has this module, too.
"""

from __future__ import annotations

from typing import NoReturn

__all__ = ["context", "is_available"]


class context:  # noqa: N801 (PyTorch's name)
    """What libraries import; RuntimeError where one is entered, as no pass leaves its process."""

    def __enter__(self) -> NoReturn:
        raise RuntimeError(
            "distributed.autograd.context keeps the gradients of passes that cross to other "
            "processes, which are not available. Call backward(), or autograd.grad"
        )

    def __exit__(self, *_: object) -> None:
        """Nothing: none is entered."""


def is_available() -> bool:
    """False: a graph is all in one process; the collectives of `distributed.nn` join graphs.

    >>> from retrograd.distributed import autograd
    >>> autograd.is_available()
    False
    """
    return False
