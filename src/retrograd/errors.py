"""Exception types of Retrograd.

PyTorch raises built-in types; programs catch those. So every type here is a built-in one with a
name that says more. This module knows nothing of tensors.
"""

from __future__ import annotations

__all__ = ["OutOfMemoryError", "SecondBackwardError", "VersionError"]


class VersionError(RuntimeError):
    """A value saved for the backward pass was written in place before the backward pass read it."""


class SecondBackwardError(RuntimeError):
    """The saved values of a graph were read after a backward pass had freed them."""


class OutOfMemoryError(RuntimeError):
    """An array could not be allocated."""
