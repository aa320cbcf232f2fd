"""Warnings of `torch.utils.backcompat` that programs switch on: of what changed long ago."""

from __future__ import annotations

__all__ = ["broadcast_warning", "keepdim_warning"]


class _Switch:
    """A warning about old behaviour. It is kept, and has no effect: nothing behaves so here.

    >>> from retrograd.utils import backcompat
    >>> backcompat.broadcast_warning.enabled = True
    >>> backcompat.broadcast_warning.enabled, backcompat.keepdim_warning.enabled
    (True, False)
    >>> backcompat.broadcast_warning.enabled = False
    """

    enabled = False


broadcast_warning, keepdim_warning = _Switch(), _Switch()
