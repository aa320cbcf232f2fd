"""`torch.mps` for programs that ask for Apple's GPUs: there are none for tensors."""

from __future__ import annotations

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "synchronize"]


def is_available() -> bool:
    """Whether tensors can live on such a GPU: never.

    >>> rg.mps.is_available(), rg.mps.device_count()
    (False, 0)
    """
    return False


def device_count() -> int:
    """The number of such GPUs: 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the generator of the GPU: there is none, so nothing happens."""


def empty_cache() -> None:
    """Give unused memory of the GPU back: there is none, so nothing happens."""


def synchronize() -> None:
    """Wait for the GPU: nothing runs there, so nothing happens."""
