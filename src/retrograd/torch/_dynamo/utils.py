"""`torch._dynamo.utils`: what libraries ask of a compiler."""

from __future__ import annotations

from contextlib import nullcontext

__all__ = ["disable_cache_limit", "is_compile_supported"]

disable_cache_limit = nullcontext  # no versions of a function are counted


def is_compile_supported(device_type: str) -> bool:
    """Whether functions are compiled for a kind of device: they run as they are, on all.

    >>> from retrograd._dynamo.utils import is_compile_supported
    >>> is_compile_supported("cpu")
    False
    """
    return False
