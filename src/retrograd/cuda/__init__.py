"""`torch.cuda` for programs that ask whether there is a GPU: there is none.

So `device = "cuda" if retrograd.cuda.is_available() else "cpu"` gives "cpu".
"""

from __future__ import annotations

__all__ = ["device_count", "is_available", "manual_seed", "manual_seed_all"]


def is_available() -> bool:
    """Whether tensors can live on a GPU: never.

    >>> import retrograd as rg
    >>> rg.cuda.is_available()
    False
    """
    return False


def device_count() -> int:
    """The number of GPUs: 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the generator of the current GPU: there is none, so nothing happens, as in PyTorch."""


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs: there are none, so nothing happens, as in PyTorch."""
