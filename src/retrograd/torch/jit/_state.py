"""`torch.jit._state`: whether scripts are compiled, which programs ask."""

from __future__ import annotations

__all__ = ["EnabledProxy"]


class EnabledProxy:
    """`enabled` says whether scripts are compiled: not here, as under `PYTORCH_JIT=0`.

    >>> from retrograd.jit._state import _enabled
    >>> _enabled.enabled
    False
    """

    enabled = False


_enabled = EnabledProxy()
