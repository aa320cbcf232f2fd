"""`torch.fx.experimental.proxy_tensor`, which records PyTorch's inner operations: nothing here."""

from __future__ import annotations

__all__ = ["get_proxy_mode"]


def get_proxy_mode() -> None:
    """The mode that records the inner operations of its block: there is none.

    >>> from retrograd.fx.experimental.proxy_tensor import get_proxy_mode
    >>> get_proxy_mode() is None
    True
    """
