"""The switch of PyTorch's fast path through transformer layers; there is one path here."""

from __future__ import annotations

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_enabled = True


def get_fastpath_enabled() -> bool:
    """Whether programs have left it switched on.

    >>> rg.backends.mha.get_fastpath_enabled()
    True
    """
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Switch it on or off, which changes no result."""
    global _enabled
    _enabled = bool(value)
