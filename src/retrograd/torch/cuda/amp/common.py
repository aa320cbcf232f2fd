"""Whether there is a device for `cuda.amp`."""

from __future__ import annotations

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """Whether nothing can be cast for a GPU: so it is.

    >>> rg.cuda.amp.amp_definitely_not_available()
    True
    """
    return True
