"""Shared by the modules of libraries that are not used: `is_available`, and their switches."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["flags_of", "is_available"]


def is_available() -> bool:
    """Whether the library is used: never, as arrays are NumPy's."""
    return False


def flags_of(module: str, *names: str) -> Callable[..., Any]:
    """`flags(**settings)` of a module: a context, or decorator, that sets its switches."""

    @contextmanager
    def flags(**settings: Any) -> Iterator[None]:
        """Set switches of this library for a while; TypeError for one that it has not.

        >>> with rg.backends.cudnn.flags(enabled=False):
        ...     rg.backends.cudnn.enabled
        False
        """
        unknown = settings.keys() - set(names)
        if unknown:
            raise TypeError(
                f"flags() got an unexpected keyword argument {min(unknown)!r}. There are "
                f"{', '.join(names)}"
            )
        held = vars(sys.modules[module])
        before = {name: held[name] for name in settings}
        held.update(settings)
        try:
            yield
        finally:
            held.update(before)

    return flags
